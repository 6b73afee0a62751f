// Metadata that clients send: request ids, trace contexts and sizes.
#pragma once

#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace locus::server {

// The client's x-request-id if it consists of 1 to 128 visible ASCII
// characters, otherwise a random id.
std::string RequestIdOf(const grpc::ServerContext& context);
bool IsRequestId(absl::string_view text);

// The client's traceparent if it is valid (W3C Trace Context), otherwise empty.
std::string TraceparentOf(const grpc::ServerContext& context);
bool IsTraceparent(absl::string_view text);

// Returns the size of the metadata as HTTP/2 counts it for
// SETTINGS_MAX_HEADER_LIST_SIZE: 32 bytes per field more than its text.
int64_t MetadataBytes(const grpc::ServerContextBase& context);

}  // namespace locus::server
