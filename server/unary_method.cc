#include "server/unary_method.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <exception>
#include <memory>
#include <new>

#include "absl/strings/str_cat.h"
#include "server/parsed_size.h"

namespace locus::server {
namespace {
// Far beyond any sensible request, which has a few dozen, and one for each word
// of a module; quick to refuse and to parse.
constexpr int64_t kMaxFields = 1 << 20;
}  // namespace

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
  const absl::Status handled = HandleSafely(call, request.get(), &response);
  if (!handled.ok()) response.Clear();
  grpc::Status status = call.Finish(
      handled, handled.ok() ? static_cast<int64_t>(response.Length()) : 0);
  grpc::internal::UnaryRunHandlerHelper(parameter, &response, status);
}

absl::Status UnaryMethod::HandleSafely(Call& call, grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) {
  LOCUS_RETURN_IF_ERROR(call.CheckServing());
  if (request == nullptr || !request->Valid()) {
    LOCUS_RETURN_IF_ERROR(call.CheckCaller());
    return InvalidField("request", "no message arrived");
  }
  // We do not throw, but allocators and libraries do.
  try {
    LOCUS_RETURN_IF_ERROR(Handle(call, request, response));
    return call.CheckResponseBytes(static_cast<int64_t>(response->Length()));
  } catch (const std::bad_alloc&) {
    return LimitExceeded("request", "memory",
                         "the server is out of memory for this call");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  } catch (...) {
    return absl::InternalError("an exception of unknown type");
  }
}

absl::Status UnaryMethod::Parse(Call& call, grpc::ByteBuffer* wire,
                                google::protobuf::Message* message) {
  const auto wire_bytes = static_cast<int64_t>(wire->Length());
  call.set_request_bytes(wire_bytes);
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

absl::Status UnaryMethod::Serialize(const google::protobuf::Message& message,
                                    grpc::ByteBuffer* wire) {
  bool owned = false;
  const grpc::Status status =
      grpc::GenericSerialize<grpc::ProtoBufferWriter,
                             google::protobuf::Message>(message, wire, &owned);
  if (status.ok()) return absl::OkStatus();
  return absl::InternalError("the response does not serialise");
}

const MethodInfo* UnaryService::AddInfo(absl::string_view method) {
  methods_.push_back({absl::StrCat("/", name_, "/", method),
                      state_.metrics.AddMethod(name_, method)});
  return &methods_.back();
}

}  // namespace locus::server
