#include "server/rpc/request_handling.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <exception>
#include <new>

#include "absl/strings/str_cat.h"
#include "server/rpc/wire/parse_budget.h"
#include "server/rpc/wire/tensor_parser.h"

namespace locus::server {
namespace {

// The maximum number of fields in a request. Requests have a few dozen fields,
// plus one per token of a module. A request at the limit is still quick to
// count and to parse.
constexpr int64_t kMaxFields = 1 << 20;

}  // namespace

absl::Status HandleSafely(absl::FunctionRef<absl::Status()> handle) {
  // This project does not throw, but allocators and libraries do.
  try {
    return handle();
  } catch (const std::bad_alloc&) {
    return LimitExceeded("request", "memory",
                         "the server is out of memory for this call");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  } catch (...) {
    return absl::InternalError("an exception of unknown type");
  }
}

absl::Status ParseRequest(RpcScope& call, grpc::ByteBuffer* wire,
                          google::protobuf::Message* message) {
  const auto wire_bytes = static_cast<int64_t>(wire->Length());
  call.record().CountReceived(wire_bytes);
  const ParsedSize size = [&] {
    grpc::ProtoBufferReader reader(wire);
    return BoundParsedSize(*message->GetDescriptor(), &reader, kMaxFields);
  }();
  if (size.fields > kMaxFields) {
    return LimitExceeded("request", "message_fields",
                         absl::StrCat("has more than ", kMaxFields, " fields"));
  }
  LOCUS_RETURN_IF_ERROR(call.Reserve(wire_bytes + size.bytes));
  const bool parsed = !size.is_truncated && [&] {
    grpc::ProtoBufferReader reader(wire);
    return size.has_large_bytes
               ? ParseLargeMessage(&reader, static_cast<int>(wire_bytes),
                                   message)
               : message->ParseFromZeroCopyStream(&reader);
  }();
  wire->Clear();
  if (parsed) return absl::OkStatus();
  return InvalidField(
      "request",
      absl::StrCat("is not a valid ", message->GetDescriptor()->full_name(),
                   "; its ", wire_bytes, " bytes do not parse"));
}

absl::Status SerializeResponse(const RpcScope& call,
                               const google::protobuf::Message& message,
                               ZeroCopyTensors* tensors,
                               grpc::ByteBuffer* wire) {
  LOCUS_RETURN_IF_ERROR(call.CheckResponseBytes(WireSize(message, *tensors)));
  *wire = ToWire(message, tensors);
  return absl::OkStatus();
}

}  // namespace locus::server
