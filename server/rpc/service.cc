#include "server/rpc/service.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace locus::server {

MethodInfo* Service::AddInfo(absl::string_view method, MethodType type) {
  methods_.emplace_back(absl::StrCat("/", name_, "/", method),
                        state_.metrics.AddMethod(name_, method, type),
                        state_.pool.thread_count());
  return &methods_.back();
}

void Service::AddUnaryMethod(MethodInfo* info, UnaryMethod::Handler handle) {
  const int index = method_count_++;
  AddMethod(new grpc::internal::RpcServiceMethod(
      info->path.c_str(), grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodAsync(index);
  unary_methods_.push_back(
      {info, std::move(handle),
       [this, index](grpc::ServerContext* context, UnaryStream* stream,
                     grpc::ServerCompletionQueue* queue, void* tag) {
         RequestAsyncBidiStreaming(index, context, stream, queue, queue, tag);
       }});
}

}  // namespace locus::server
