// Methods whose answer is a stream of messages.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "server/rpc/rpc_scope.h"

namespace locus::server {

// Where the messages of one call go. For one thread at a time.
class MessageWriter {
 public:
  MessageWriter(Call* call, grpc::ServerWriter<grpc::ByteBuffer>* writer)
      : call_(*call), writer_(*writer) {}

  // Waits until the transport has taken the message, for as long as the caller
  // does not read. CANCELLED or DEADLINE_EXCEEDED once nobody will.
  absl::Status Write(const google::protobuf::Message& message);

 private:
  Call& call_;
  grpc::ServerWriter<grpc::ByteBuffer>& writer_;
};

// The same for messages of one type.
template <typename Response>
class ResponseStream {
 public:
  explicit ResponseStream(MessageWriter* writer) : writer_(*writer) {}
  absl::Status Write(const Response& response) {
    return writer_.Write(response);
  }

 private:
  MessageWriter& writer_;
};

// Thread-safe.
class StreamMethod final : public grpc::internal::MethodHandler {
 public:
  // Parses, handles and writes. May throw.
  using Handler = std::function<absl::Status(Call&, grpc::ByteBuffer* request,
                                             MessageWriter& writer)>;

  StreamMethod(ServerState* state, const MethodInfo* method, Handler handler)
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
