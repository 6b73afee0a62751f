// Methods of one answer.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "server/call.h"

namespace locus::server {

// Thread-safe.
class UnaryMethod final : public grpc::internal::MethodHandler {
 public:
  // Parses, handles and serialises. May throw.
  using Handler = std::function<absl::Status(Call&, grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response)>;

  UnaryMethod(ServerState* state, const MethodInfo* method, Handler handler)
      : state_(*state), method_(*method), handler_(std::move(handler)) {}

  void RunHandler(const HandlerParameter& parameter) override;
  void* Deserialize(grpc_call* call, grpc_byte_buffer* request,
                    grpc::Status* status, void** handler_data) override;

 private:
  ServerState& state_;
  const MethodInfo& method_;
  const Handler handler_;
};

}  // namespace locus::server
