// Size limits of one request: elements, positions and heads.
#pragma once

#include "absl/status/status.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"
#include "server/config/options.h"

namespace locus::server {

// Returns RESOURCE_EXHAUSTED, with the field and the limit, if a tensor has too
// many elements, a sequence is too long, or there are too many heads.
// `on_scores` says that the input is a tensor of scores.
absl::Status CheckLimits(const ServerOptions& limits,
                         const v1::EncodeRequest& request, bool on_scores);
absl::Status CheckLimits(const ServerOptions& limits,
                         const v1::AttendRequest& request);
// Checks all tensors of any other request, such as the tables of schemes.
absl::Status CheckTensors(const ServerOptions& limits,
                          const google::protobuf::Message& request);

}  // namespace locus::server
