#include "server/unary_method.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/method_handler.h>

#include <memory>

#include "server/method.h"

namespace locus::server {

void* UnaryMethod::Deserialize(grpc_call*, grpc_byte_buffer* request,
                               grpc::Status* status, void**) {
  return grpc::internal::UnaryDeserializeHelper(request, status,
                                                new grpc::ByteBuffer);
}

void UnaryMethod::RunHandler(const HandlerParameter& parameter) {
  const std::unique_ptr<grpc::ByteBuffer> request(
      static_cast<grpc::ByteBuffer*>(parameter.request));
  Call call(&state_, &method_,
            static_cast<grpc::ServerContext*>(parameter.server_context));
  grpc::ByteBuffer response;
  const absl::Status handled = HandleSafely(call, request.get(), [&] {
    return handler_(call, request.get(), &response);
  });
  if (handled.ok()) {
    call.CountSent(static_cast<int64_t>(response.Length()));
  } else {
    response.Clear();
  }
  grpc::Status status = call.Finish(handled);
  grpc::internal::UnaryRunHandlerHelper(parameter, &response, status);
}

}  // namespace locus::server
