// Unary RPCs on gRPC's synchronous API, with messages parsed by us.
//
// gRPC answers a message it cannot parse with INTERNAL and tells nobody. Here a
// method takes bytes: what cannot be parsed is counted, logged and answered
// with INVALID_ARGUMENT like any other mistake, memory is reserved before
// parsing, and a call is one scope from its bytes to the end of its answer.
//
// Why the synchronous API: `server_api_bench 9` (tests/server) serves the same
// method by all three on loopback, two workers. On two shared cores of an AMD
// EPYC, gRPC 1.51.1, load average 8 from other work, in microseconds:
//
//                     back to back     after 2 s idle   health, workers busy
//                     p50     p99      p50     max      p50     max
//   sync              233     5570     502     652      577     715
//   callback          244     5548     562     931      no answer in 2 s
//   completion queue  180     4008     531     753      498     4457
//
// Latencies do not tell them apart beyond the noise of that machine, after idle
// seconds included. Blocked handlers do: the callback API runs them on the
// process's one small pool, which also answers grpc.health.v1, so that busy
// handlers silence health checks unless each hands its work to other threads.
// Synchronous handlers have threads of their own, and may simply wait for a
// slot. The price is a thread for each waiting call, which ResourceQuota
// bounds. Watch streams of the health service run on the callback pool: ninety
// open ones added no thread. Reflection streams take one each.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/call.h"

namespace locus::server {

// One unary method. Thread-safe.
class UnaryMethod : public grpc::internal::MethodHandler {
 public:
  UnaryMethod(ServerState* state, const MethodInfo* method)
      : state_(*state), method_(*method) {}

  void RunHandler(const HandlerParameter& parameter) final;
  void* Deserialize(grpc_call* call, grpc_byte_buffer* request,
                    grpc::Status* status, void** handler_data) final;

 protected:
  // Parses, handles and serialises. May throw.
  virtual absl::Status Handle(Call& call, grpc::ByteBuffer* request,
                              grpc::ByteBuffer* response) = 0;

  // Reserves memory and parses; leaves `wire` empty.
  static absl::Status Parse(Call& call, grpc::ByteBuffer* wire,
                            google::protobuf::Message* message);
  static absl::Status Serialize(const google::protobuf::Message& message,
                                grpc::ByteBuffer* wire);

 private:
  absl::Status HandleSafely(Call& call, grpc::ByteBuffer* request,
                            grpc::ByteBuffer* response);

  ServerState& state_;
  const MethodInfo& method_;
};

// A service of such methods.
class UnaryService : public grpc::Service {
 public:
  // `name` is the full name, such as locus.v1.EncodingService.
  UnaryService(ServerState* state, absl::string_view name)
      : state_(*state), name_(name) {}

 protected:
  template <typename Request, typename Response>
  using Handler = std::function<absl::Status(Call&, const Request&, Response*)>;

  template <typename Request, typename Response>
  void AddUnary(absl::string_view method, Handler<Request, Response> handler) {
    const MethodInfo* info = AddInfo(method);
    AddMethod(new grpc::internal::RpcServiceMethod(
        info->path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC,
        new Typed<Request, Response>(&state_, info, std::move(handler))));
  }

  ServerState& state() { return state_; }

 private:
  template <typename Request, typename Response>
  class Typed final : public UnaryMethod {
   public:
    Typed(ServerState* state, const MethodInfo* method,
          Handler<Request, Response> handler)
        : UnaryMethod(state, method), handler_(std::move(handler)) {}

   private:
    absl::Status Handle(Call& call, grpc::ByteBuffer* request_wire,
                        grpc::ByteBuffer* response_wire) override {
      Response response;
      {
        Request request;
        LOCUS_RETURN_IF_ERROR(Parse(call, request_wire, &request));
        LOCUS_RETURN_IF_ERROR(handler_(call, request, &response));
      }
      return Serialize(response, response_wire);
    }

    const Handler<Request, Response> handler_;
  };

  const MethodInfo* AddInfo(absl::string_view method);

  ServerState& state_;
  const std::string name_;
  std::deque<MethodInfo> methods_;  // addresses stay
};

}  // namespace locus::server
