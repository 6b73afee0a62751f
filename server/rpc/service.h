// A gRPC service made of our methods.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/rpc/rpc_scope.h"
#include "server/rpc/request_handling.h"
#include "server/rpc/wire/response.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_method.h"

namespace locus::server {

class Service : public grpc::Service {
 public:
  // `name` is the full name, such as locus.v1.EncodingService.
  Service(ServerState* state, absl::string_view name)
      : state_(*state), name_(name) {}

  // Those that the front takes in; they stay where they are.
  const std::deque<UnaryMethod>& unary_methods() const {
    return unary_methods_;
  }

 protected:
  template <typename Request, typename Response>
  using UnaryHandler =
      std::function<absl::Status(Call&, const Request&, Reply<Response>*)>;
  template <typename Request, typename Response>
  using StreamHandler = std::function<absl::Status(Call&, const Request&,
                                                   ResponseStream<Response>&)>;

  template <typename Request, typename Response>
  void AddUnary(absl::string_view method,
                UnaryHandler<Request, Response> handler) {
    const MethodInfo* info = AddInfo(method, MethodType::kUnary);
    const auto handle = [handler = std::move(handler)](
                            Call& call, grpc::ByteBuffer* request_wire,
                            grpc::ByteBuffer* response_wire) {
      Reply<Response> reply;
      {
        Request request;
        LOCUS_RETURN_IF_ERROR(ParseRequest(call, request_wire, &request));
        LOCUS_RETURN_IF_ERROR(handler(call, request, &reply));
      }
      return SerializeReply(call, reply.message, &reply.attachments,
                            response_wire);
    };
    AddUnaryMethod(info, handle);
  }

  template <typename Request, typename Response>
  void AddStream(absl::string_view method,
                 StreamHandler<Request, Response> handler) {
    const MethodInfo* info = AddInfo(method, MethodType::kServerStream);
    const auto handle = [handler = std::move(handler)](
                            Call& call, grpc::ByteBuffer* request_wire,
                            MessageWriter& writer) -> absl::Status {
      Request request;
      LOCUS_RETURN_IF_ERROR(ParseRequest(call, request_wire, &request));
      ResponseStream<Response> stream(&writer);
      return handler(call, request, stream);
    };
    AddMethod(new grpc::internal::RpcServiceMethod(
        info->path.c_str(), grpc::internal::RpcMethod::SERVER_STREAMING,
        new StreamMethod(&state_, info, handle)));
    ++method_count_;
  }

  ServerState& state() { return state_; }

 private:
  const MethodInfo* AddInfo(absl::string_view method, MethodType type);
  void AddUnaryMethod(const MethodInfo* info, UnaryMethod::Handler handle);

  ServerState& state_;
  const std::string name_;
  std::deque<MethodInfo> methods_;  // addresses stay
  std::deque<UnaryMethod> unary_methods_;
  int method_count_ = 0;
};

}  // namespace locus::server
