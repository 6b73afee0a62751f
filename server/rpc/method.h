// Methods of the services, as the RPC layer sees them.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <functional>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/admission/cost_estimator.h"
#include "server/rpc/call_record.h"
#include "server/rpc/rpc_scope.h"

namespace locus::server {

// Writes the response messages of a server-streaming call. Not thread-safe.
class MessageWriter {
 public:
  // Sends one message, and blocks until the transport has accepted it. Returns
  // false if the call has ended.
  using Send = absl::FunctionRef<bool(const grpc::ByteBuffer&)>;

  // `call` and `send` must outlive the MessageWriter.
  MessageWriter(RpcScope* call, Send send) : call_(*call), send_(send) {}

  // Blocks until the transport has accepted the message, which a client that
  // does not read can delay indefinitely. Returns CANCELLED or
  // DEADLINE_EXCEEDED if the call has ended.
  absl::Status Write(const google::protobuf::Message& message);

 private:
  RpcScope& call_;
  const Send send_;
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

// A call that a handler has prepared. Exactly one of the functions is set.
struct PreparedCall {
  Work work;
  // Computes a unary call, and serialises its response.
  absl::AnyInvocable<absl::Status(grpc::ByteBuffer* response)> compute;
  // Computes a server-streaming call, which may take minutes, on a thread of
  // its own.
  absl::AnyInvocable<absl::Status(MessageWriter& writer)> stream;
};

// A method of a service. Thread-safe.
struct Method {
  MethodInfo info;
  // Parses the request and prepares the call. May throw.
  std::function<absl::StatusOr<PreparedCall>(RpcScope&,
                                             grpc::ByteBuffer* request)>
      prepare;
};

}  // namespace locus::server
