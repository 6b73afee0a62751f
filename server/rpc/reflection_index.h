// Responses of gRPC server reflection, which describe the services of a server
// and their messages, so that clients need no .proto files.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpc/reflection/v1/reflection.pb.h"

namespace locus::server {

// Answers reflection requests from a descriptor pool. Thread-safe.
class ReflectionIndex {
 public:
  using Request = grpc::reflection::v1::ServerReflectionRequest;
  using Response = grpc::reflection::v1::ServerReflectionResponse;
  // The files that were sent on one stream.
  using SentFiles = std::set<const google::protobuf::FileDescriptor*>;

  // Host, file, symbol and type names in requests may have this many bytes.
  static constexpr size_t kMaxNameBytes = 1024;

  // `pool` must outlive the index. `services` are the full names of all
  // services of the server.
  ReflectionIndex(const google::protobuf::DescriptorPool* pool,
                  std::vector<std::string> services);

  // Answers a request of a stream on which the files in `sent` were sent, and
  // adds the files that it sends. A response consists of the file that was
  // requested, and of all files that it imports, directly or not, and that were
  // not sent yet. Errors are part of the response.
  Response Answer(const Request& request, SentFiles* sent) const;

 private:
  using FileResponse = grpc::reflection::v1::FileDescriptorResponse;

  absl::Status Fill(const Request& request, SentFiles* sent,
                    Response* response) const;
  absl::Status FillExtensionNumbers(const std::string& type,
                                    Response* response) const;
  absl::StatusOr<const google::protobuf::FileDescriptor*> FindFile(
      const Request& request) const;
  // Serialises a file once, and returns the same bytes from then on.
  const std::string& BytesOf(const google::protobuf::FileDescriptor* file) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  const google::protobuf::DescriptorPool& pool_;
  const std::vector<std::string> services_;
  mutable absl::Mutex mutex_;
  mutable std::map<const google::protobuf::FileDescriptor*, std::string> bytes_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server
