// Base class of the services.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/rpc/method.h"
#include "server/rpc/request_handling.h"
#include "server/rpc/rpc_scope.h"

namespace locus::server {

// A service whose handlers take protobuf messages and prepare computations. A
// derived class adds its methods in its constructor, with AddUnary() and
// AddStream(), and must not add methods later.
class Service {
 public:
  // `state` must outlive the service. `name` is the full name, such as
  // locus.v1.EncodingService.
  Service(ServerState* state, absl::string_view name)
      : state_(*state), name_(name) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Their addresses do not change.
  const std::deque<Method>& methods() const { return methods_; }

 protected:
  ~Service() = default;

  // Handlers receive the scope of the call and the request, and return
  // the computation. They run on many threads at once. In and Out are
  // protobuf messages. The scope outlives the computation.
  template <typename In, typename Out>
  using UnaryHandler =
      std::function<absl::StatusOr<Computation<Out>>(RpcScope&, const In&)>;
  template <typename Out>
  using StreamBody = absl::AnyInvocable<absl::Status(ResponseStream<Out>&)>;
  template <typename In, typename Out>
  using StreamHandler =
      std::function<absl::StatusOr<StreamBody<Out>>(RpcScope&, const In&)>;

  // Adds the method of that name, such as "Encode". The request is destroyed
  // before the response is serialised.
  template <typename In, typename Out>
  void AddUnary(absl::string_view method, UnaryHandler<In, Out> handler) {
    // The computation refers to the request, and is destroyed first.
    struct Pending {
      std::unique_ptr<In> request;
      Computation<Out> computation;
    };
    Add(method, MethodType::kUnary,
        [handler = std::move(handler)](RpcScope& call, grpc::ByteBuffer* wire)
            -> absl::StatusOr<PreparedCall> {
          Pending pending{std::make_unique<In>(), {}};
          LOCUS_RETURN_IF_ERROR(
              ParseRequest(call, wire, pending.request.get()));
          LOCUS_ASSIGN_OR_RETURN(pending.computation,
                                 handler(call, *pending.request));
          PreparedCall prepared;
          prepared.work = pending.computation.work;
          prepared.compute = [&call, pending = std::move(pending)](
                                 grpc::ByteBuffer* response_wire) mutable {
            Response<Out> response;
            const absl::Status status = pending.computation.run(&response);
            pending.computation.run = nullptr;
            pending.request.reset();
            LOCUS_RETURN_IF_ERROR(status);
            return SerializeResponse(call, response.message, &response.tensors,
                                     response_wire);
          };
          return prepared;
        });
  }

  // Adds the server-streaming method of that name.
  template <typename In, typename Out>
  void AddStream(absl::string_view method, StreamHandler<In, Out> handler) {
    Add(method, MethodType::kServerStream,
        [handler = std::move(handler)](RpcScope& call, grpc::ByteBuffer* wire)
            -> absl::StatusOr<PreparedCall> {
          auto request = std::make_unique<In>();
          LOCUS_RETURN_IF_ERROR(ParseRequest(call, wire, request.get()));
          LOCUS_ASSIGN_OR_RETURN(StreamBody<Out> body, handler(call, *request));
          PreparedCall prepared;
          prepared.stream =
              [request = std::move(request),
               body = std::move(body)](MessageWriter& writer) mutable {
                ResponseStream<Out> stream(&writer);
                return body(stream);
              };
          return prepared;
        });
  }

  ServerState& state() { return state_; }

 private:
  void Add(absl::string_view method, MethodType type,
           decltype(Method::prepare) prepare);

  ServerState& state_;
  const std::string name_;
  std::deque<Method> methods_;  // keeps the addresses of its elements
};

}  // namespace locus::server
