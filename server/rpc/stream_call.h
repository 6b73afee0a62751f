// Server-streaming methods: one request message, a stream of response messages.
//
// They use gRPC's synchronous API, with one thread per call: there are few of
// these calls, and each may take minutes.
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

// Writes the response messages of one call. Not thread-safe.
class MessageWriter {
 public:
  // `call` and `writer` must outlive the MessageWriter.
  MessageWriter(RpcScope* call, grpc::ServerWriter<grpc::ByteBuffer>* writer)
      : call_(*call), writer_(*writer) {}

  // Blocks until the transport has accepted the message, which a client that
  // does not read can delay indefinitely. Returns CANCELLED or
  // DEADLINE_EXCEEDED if the call has ended.
  absl::Status Write(const google::protobuf::Message& message);

 private:
  RpcScope& call_;
  grpc::ServerWriter<grpc::ByteBuffer>& writer_;
};

// A MessageWriter for messages of one type. Not thread-safe.
template <typename Response>
class ResponseStream {
 public:
  explicit ResponseStream(MessageWriter* writer) : writer_(*writer) {}
  // Same as MessageWriter::Write().
  absl::Status Write(const Response& response) {
    return writer_.Write(response);
  }

 private:
  MessageWriter& writer_;
};

// Serves the calls of one server-streaming method, each on a thread of gRPC's.
// Thread-safe.
class StreamMethod final : public grpc::internal::MethodHandler {
 public:
  // Parses the request, handles it and writes the responses. Thread-safe. May
  // throw.
  using Handler = std::function<absl::Status(
      RpcScope&, grpc::ByteBuffer* request, MessageWriter& writer)>;

  // `state` and `method` must outlive the StreamMethod.
  StreamMethod(ServerState* state, MethodInfo* method, Handler handler)
      : state_(*state), method_(*method), handler_(std::move(handler)) {}

  // Called by gRPC: Deserialize() keeps the request as bytes, RunHandler()
  // serves one call.
  void RunHandler(const HandlerParameter& parameter) override;
  void* Deserialize(grpc_call* call, grpc_byte_buffer* request,
                    grpc::Status* status, void** handler_data) override;

 private:
  ServerState& state_;
  MethodInfo& method_;
  const Handler handler_;
};

}  // namespace locus::server
