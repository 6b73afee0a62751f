#include "server/rpc/stream_call.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/method_handler.h>

#include "server/rpc/request_handling.h"

namespace locus::server {
namespace {
// gRPC's handler of server-streaming methods: only it can access the operations
// that end a stream.
using GrpcHandler =
    grpc::internal::ServerStreamingHandler<StreamMethod, grpc::ByteBuffer,
                                           grpc::ByteBuffer>;
}  // namespace

absl::Status MessageWriter::Write(const google::protobuf::Message& message) {
  grpc::ByteBuffer wire;
  ZeroCopyTensors none;
  LOCUS_RETURN_IF_ERROR(SerializeResponse(call_, message, &none, &wire));
  const auto bytes = static_cast<int64_t>(wire.Length());
  if (writer_.Write(wire)) {
    call_.CountSent(bytes);
    return absl::OkStatus();
  }
  LOCUS_RETURN_IF_ERROR(call_.CheckCancellation());
  return absl::CancelledError("the call was cancelled");
}

void* StreamMethod::Deserialize(grpc_call* call, grpc_byte_buffer* request,
                                grpc::Status* status, void** handler_data) {
  return GrpcHandler(nullptr, nullptr)
      .Deserialize(call, request, status, handler_data);
}

void StreamMethod::RunHandler(const HandlerParameter& parameter) {
  RpcScope call(&state_, &method_,
                static_cast<grpc::ServerContext*>(parameter.server_context));
  auto* const request = static_cast<grpc::ByteBuffer*>(parameter.request);
  if (request == nullptr) {
    // gRPC's handler would dereference the null request. An error without a
    // response looks the same on the wire for unary and streaming methods.
    grpc::ByteBuffer nothing;
    grpc::Status status = call.Finish(
        HandleSafely(call, nullptr, [] { return absl::OkStatus(); }));
    grpc::internal::UnaryRunHandlerHelper(parameter, &nothing, status);
    return;
  }
  GrpcHandler(
      [&](StreamMethod*, grpc::ServerContext*, const grpc::ByteBuffer*,
          grpc::ServerWriter<grpc::ByteBuffer>* grpc_writer) {
        MessageWriter writer(&call, grpc_writer);
        return call.Finish(HandleSafely(
            call, request, [&] { return handler_(call, request, writer); }));
      },
      this)
      .RunHandler(parameter);
}

}  // namespace locus::server
