#include "server/rpc/reflection_index.h"

#include <google/protobuf/descriptor.pb.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "server/base/printable.h"

namespace locus::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1::ServerReflectionRequest;

constexpr size_t kMaxQuotedBytes = 256;

absl::Status NotFound(const char* kind, const std::string& name) {
  return absl::NotFoundError(absl::StrCat(kind, " \"",
                                          Printable(name, kMaxQuotedBytes),
                                          "\" is not known to this server"));
}

// The name of the file, symbol or type that a request asks for.
const std::string& RequestedName(const ServerReflectionRequest& request) {
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      return request.file_by_filename();
    case ServerReflectionRequest::kFileContainingSymbol:
      return request.file_containing_symbol();
    case ServerReflectionRequest::kFileContainingExtension:
      return request.file_containing_extension().containing_type();
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      return request.all_extension_numbers_of_type();
    default:
      return request.list_services();  // empty if nothing is set
  }
}

}  // namespace

ReflectionIndex::ReflectionIndex(const DescriptorPool* pool,
                                 std::vector<std::string> services)
    : pool_(*pool), services_(std::move(services)) {}

ReflectionIndex::Response ReflectionIndex::Answer(const Request& request,
                                                  SentFiles* sent) const {
  Response response;
  absl::Status status;
  if (request.host().size() > kMaxNameBytes ||
      RequestedName(request).size() > kMaxNameBytes) {
    status = absl::InvalidArgumentError(
        absl::StrCat("a name is longer than ", kMaxNameBytes, " bytes"));
  } else {
    response.set_valid_host(request.host());
    *response.mutable_original_request() = request;
    status = Fill(request, sent, &response);
  }
  if (!status.ok()) {
    auto* error = response.mutable_error_response();
    error->set_error_code(static_cast<int>(status.code()));
    error->set_error_message(std::string(status.message()));
  }
  return response;
}

absl::Status ReflectionIndex::Fill(const Request& request, SentFiles* sent,
                                   Response* response) const {
  switch (request.message_request_case()) {
    case Request::kListServices:
      for (const std::string& name : services_) {
        response->mutable_list_services_response()->add_service()->set_name(
            name);
      }
      return absl::OkStatus();
    case Request::kAllExtensionNumbersOfType:
      return FillExtensionNumbers(request.all_extension_numbers_of_type(),
                                  response);
    default:
      break;
  }
  LOCUS_ASSIGN_OR_RETURN(const FileDescriptor* const requested,
                         FindFile(request));
  FileResponse* const files = response->mutable_file_descriptor_response();
  std::vector<const FileDescriptor*> to_send = {requested};
  sent->insert(requested);
  for (size_t i = 0; i < to_send.size(); ++i) {
    const FileDescriptor& file = *to_send[i];
    files->add_file_descriptor_proto(BytesOf(&file));
    for (int d = 0; d < file.dependency_count(); ++d) {
      if (sent->insert(file.dependency(d)).second) {
        to_send.push_back(file.dependency(d));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<const FileDescriptor*> ReflectionIndex::FindFile(
    const Request& request) const {
  const std::string& name = RequestedName(request);
  switch (request.message_request_case()) {
    case Request::kFileByFilename: {
      const FileDescriptor* const file = pool_.FindFileByName(name);
      if (file == nullptr) return NotFound("file", name);
      return file;
    }
    case Request::kFileContainingSymbol: {
      const FileDescriptor* const file = pool_.FindFileContainingSymbol(name);
      if (file == nullptr) return NotFound("symbol", name);
      return file;
    }
    case Request::kFileContainingExtension: {
      const Descriptor* const type = pool_.FindMessageTypeByName(name);
      if (type == nullptr) return NotFound("type", name);
      const int number = request.file_containing_extension().extension_number();
      const FieldDescriptor* const extension =
          pool_.FindExtensionByNumber(type, number);
      if (extension == nullptr) {
        return absl::NotFoundError(
            absl::StrCat(name, " has no extension ", number));
      }
      return extension->file();
    }
    default:
      return absl::UnimplementedError("message_request: is not set or unknown");
  }
}

absl::Status ReflectionIndex::FillExtensionNumbers(const std::string& type,
                                                   Response* response) const {
  const Descriptor* const message = pool_.FindMessageTypeByName(type);
  if (message == nullptr) return NotFound("type", type);
  auto* const numbers = response->mutable_all_extension_numbers_response();
  numbers->set_base_type_name(type);
  std::vector<const FieldDescriptor*> extensions;
  pool_.FindAllExtensions(message, &extensions);
  for (const FieldDescriptor* const extension : extensions) {
    numbers->add_extension_number(extension->number());
  }
  return absl::OkStatus();
}

const std::string& ReflectionIndex::BytesOf(const FileDescriptor* file) const {
  const absl::MutexLock lock(&mutex_);
  const auto [position, is_new] = bytes_.try_emplace(file);
  if (is_new) {
    google::protobuf::FileDescriptorProto message;
    file->CopyTo(&message);
    position->second = message.SerializeAsString();
  }
  return position->second;
}

}  // namespace locus::server
