// Base class of the gRPC services.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/rpc/request_handling.h"
#include "server/rpc/rpc_scope.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_method.h"
#include "server/rpc/wire/response.h"

namespace locus::server {

// A gRPC service whose handlers take and return protobuf messages. A derived
// class adds its methods in its constructor, with AddUnary() and AddStream(),
// and must not add methods later.
class Service : public grpc::Service {
 public:
  // `state` must outlive the service. `name` is the full name, such as
  // locus.v1.EncodingService.
  Service(ServerState* state, absl::string_view name)
      : state_(*state), name_(name) {}

  // The unary methods, for UnaryServer. Their addresses do not change.
  const std::deque<UnaryMethod>& unary_methods() const {
    return unary_methods_;
  }

 protected:
  // Handlers receive the scope of the call and the request, and return the
  // status of the call. They run on many threads at once. In and Out are
  // protobuf messages.
  template <typename In, typename Out>
  using UnaryHandler =
      std::function<absl::Status(RpcScope&, const In&, Response<Out>*)>;
  template <typename In, typename Out>
  using StreamHandler =
      std::function<absl::Status(RpcScope&, const In&, ResponseStream<Out>&)>;

  // Adds the method of that name, such as "Encode". The request is destroyed
  // before the response is serialised.
  template <typename In, typename Out>
  void AddUnary(absl::string_view method, UnaryHandler<In, Out> handler) {
    MethodInfo* info = AddInfo(method, MethodType::kUnary);
    const auto handle = [handler = std::move(handler)](
                            RpcScope& call, grpc::ByteBuffer* request_wire,
                            grpc::ByteBuffer* response_wire) {
      Response<Out> response;
      {
        In request;
        LOCUS_RETURN_IF_ERROR(ParseRequest(call, request_wire, &request));
        LOCUS_RETURN_IF_ERROR(handler(call, request, &response));
      }
      return SerializeResponse(call, response.message, &response.tensors,
                               response_wire);
    };
    AddUnaryMethod(info, handle);
  }

  // Adds the server-streaming method of that name.
  template <typename In, typename Out>
  void AddStream(absl::string_view method, StreamHandler<In, Out> handler) {
    MethodInfo* info = AddInfo(method, MethodType::kServerStream);
    const auto handle = [handler = std::move(handler)](
                            RpcScope& call, grpc::ByteBuffer* request_wire,
                            MessageWriter& writer) -> absl::Status {
      In request;
      LOCUS_RETURN_IF_ERROR(ParseRequest(call, request_wire, &request));
      ResponseStream<Out> stream(&writer);
      return handler(call, request, stream);
    };
    AddMethod(new grpc::internal::RpcServiceMethod(
        info->path.c_str(), grpc::internal::RpcMethod::SERVER_STREAMING,
        new StreamMethod(&state_, info, handle)));
    ++method_count_;
  }

  ServerState& state() { return state_; }

 private:
  MethodInfo* AddInfo(absl::string_view method, MethodType type);
  void AddUnaryMethod(MethodInfo* info, UnaryMethod::Handler handle);

  ServerState& state_;
  const std::string name_;
  // Deques, because they keep the addresses of their elements.
  std::deque<MethodInfo> methods_;
  std::deque<UnaryMethod> unary_methods_;
  int method_count_ = 0;
};

}  // namespace locus::server
