// Methods of one answer.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>

#include "absl/status/status.h"
#include "server/rpc/rpc_scope.h"

namespace locus::server {

// To gRPC they are streams of one message each way: so it tells of a call
// before it has read the message, and whoever is turned away is turned away
// unread.
using UnaryStream =
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

struct UnaryMethod {
  // Parses, handles and serialises. May throw. Thread-safe.
  using Handler = std::function<absl::Status(Call&, grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response)>;

  const MethodInfo* info = nullptr;
  Handler handle;
  // Asks gRPC for the next call of this method; `tag` comes out of the queue
  // when there is one.
  std::function<void(grpc::ServerContext*, UnaryStream*,
                     grpc::ServerCompletionQueue*, void* tag)>
      request_next;
};

}  // namespace locus::server
