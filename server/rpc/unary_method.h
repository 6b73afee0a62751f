// Unary methods: one request message, one response message.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>

#include "absl/status/status.h"
#include "server/rpc/rpc_scope.h"

namespace locus::server {

// gRPC reads the message of a unary call before it reports the call. Unary
// methods are therefore registered as bidirectional streams of one message
// each way, so that calls can be deferred and rejected unread
// (docs/adr/0002-defer-calls-before-reading.md). Clients see no difference.
using UnaryStream =
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// A unary method of a service.
struct UnaryMethod {
  // Parses the request, handles it and serialises the response. Thread-safe.
  // May throw.
  using Handler = std::function<absl::Status(
      RpcScope&, grpc::ByteBuffer* request, grpc::ByteBuffer* response)>;

  MethodInfo* info = nullptr;
  Handler handle;
  // Requests the next call of this method from gRPC. The queue returns `tag`
  // when a call arrives.
  std::function<void(grpc::ServerContext*, UnaryStream*,
                     grpc::ServerCompletionQueue*, void* tag)>
      request_next;
};

}  // namespace locus::server
