#include "server/rpc/service.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace locus::server {

void Service::Add(absl::string_view method, MethodType type,
                  decltype(Method::prepare) prepare) {
  methods_.push_back({.info = {absl::StrCat("/", name_, "/", method),
                               state_.metrics.AddMethod(name_, method, type)},
                      .prepare = std::move(prepare)});
}

absl::Status MessageWriter::Write(const google::protobuf::Message& message) {
  grpc::ByteBuffer wire;
  ZeroCopyTensors none;
  LOCUS_RETURN_IF_ERROR(SerializeResponse(call_, message, &none, &wire));
  const auto bytes = static_cast<int64_t>(wire.Length());
  if (send_(wire)) {
    call_.record().CountSent(bytes);
    return absl::OkStatus();
  }
  LOCUS_RETURN_IF_ERROR(call_.CheckCancellation());
  return absl::CancelledError("the call was cancelled");
}

}  // namespace locus::server
