// How large one call may be that has nothing else wrong with it.
#pragma once

#include "absl/status/status.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"
#include "server/config/options.h"

namespace locus::server {

// RESOURCE_EXHAUSTED with the field and the limit if a tensor has too many
// elements, a sequence is too long, or there are too many heads. `on_scores`:
// the input is one of scores.
absl::Status CheckLimits(const ServerOptions& limits,
                         const v1::EncodeRequest& request, bool on_scores);
absl::Status CheckLimits(const ServerOptions& limits,
                         const v1::AttendRequest& request);
// Of other requests: the same for all tensors they have, such as the tables of
// schemes.
absl::Status CheckTensors(const ServerOptions& limits,
                          const google::protobuf::Message& request);

}  // namespace locus::server
