#include "server/method.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <exception>
#include <new>

#include "absl/strings/str_cat.h"
#include "server/parsed_size.h"

namespace locus::server {
namespace {

// Far beyond any sensible request, which has a few dozen, and one for each word
// of a module; quick to refuse and to parse.
constexpr int64_t kMaxFields = 1 << 20;
// Pieces of this size, the last one less.
constexpr int kPieceBytes = 1 << 20;

}  // namespace

absl::Status HandleSafely(Call& call, const grpc::ByteBuffer* request,
                          const std::function<absl::Status()>& handle) {
  LOCUS_RETURN_IF_ERROR(call.CheckServing());
  if (request == nullptr || !request->Valid()) {
    LOCUS_RETURN_IF_ERROR(call.CheckCaller());
    return InvalidField("request", "no message arrived");
  }
  // We do not throw, but allocators and libraries do.
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

absl::Status ParseRequest(Call& call, grpc::ByteBuffer* wire,
                          google::protobuf::Message* message) {
  const auto wire_bytes = static_cast<int64_t>(wire->Length());
  call.CountReceived(wire_bytes);
  const ParsedSize size = [&] {
    grpc::ProtoBufferReader reader(wire);
    return MeasureParsed(*message->GetDescriptor(), &reader, kMaxFields);
  }();
  if (size.fields > kMaxFields) {
    return LimitExceeded("request", "message_fields",
                         absl::StrCat("has more than ", kMaxFields, " fields"));
  }
  LOCUS_RETURN_IF_ERROR(call.Reserve(wire_bytes + size.bytes));
  const bool parsed = [&] {
    grpc::ProtoBufferReader reader(wire);
    return message->ParseFromZeroCopyStream(&reader);
  }();
  wire->Clear();
  if (parsed) return absl::OkStatus();
  return InvalidField(
      "request", absl::StrCat("is no ", message->GetDescriptor()->full_name(),
                              "; its ", wire_bytes, " bytes do not parse"));
}

absl::Status SerializeResponse(const Call& call,
                               const google::protobuf::Message& message,
                               grpc::ByteBuffer* wire) {
  const auto bytes = static_cast<int64_t>(message.ByteSizeLong());
  LOCUS_RETURN_IF_ERROR(call.CheckResponseBytes(bytes));
  if (bytes == 0) {
    const grpc::Slice nothing;
    *wire = grpc::ByteBuffer(&nothing, 1);
    return absl::OkStatus();
  }
  wire->Clear();
  grpc::ProtoBufferWriter pieces(wire, kPieceBytes, static_cast<int>(bytes));
  google::protobuf::io::CodedOutputStream coded(&pieces);
  // Maps are written in an order of their own otherwise.
  coded.SetSerializationDeterministic(true);
  if (message.SerializeToCodedStream(&coded)) return absl::OkStatus();
  return absl::InternalError("the response does not serialise");
}

}  // namespace locus::server
