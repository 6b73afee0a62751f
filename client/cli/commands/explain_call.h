// Calls of `locus explain` and `locus compare`: encodings with default sizes,
// and the verdicts that need answers for more than one length.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/render/angle_verdict.h"
#include "client/cli/render/bias_facts.h"
#include "client/cli/requests/scheme_flags.h"
#include "locus/client/client.h"

namespace locus::client {

// Number of heads of a bias if neither a flag nor a configuration gives one.
inline constexpr int64_t kDefaultBiasHeadCount = 8;

// Sizes of a call that neither the request nor the scheme determines.
struct SizeDefaults {
  int64_t dim = kDefaultDim;
  int64_t head_count = kDefaultBiasHeadCount;
};

// Calls Encode. If the server reports that the dimension or the number of heads
// is missing, sets the default in `request` and calls again.
absl::StatusOr<v1::EncodeResponse> EncodeAtDefaultSize(
    Client& client, v1::EncodeRequest& request,
    const SizeDefaults& defaults = {});

// The verdict on the pairs in `facts`, which come from the response to
// `request`. If frequencies depend on the length of the call, more calls find
// the longest safe length.
absl::StatusOr<AngleVerdict> JudgePairs(Client& client,
                                        const v1::EncodeRequest& request,
                                        const RotationFacts& facts);

// The verdict on a score bias. `request` is that of the bias; its positions are
// replaced. Returns an unknown verdict if a length is 0.
absl::StatusOr<BiasVerdict> JudgeBias(Client& client, v1::EncodeRequest request,
                                      double trained_length,
                                      double target_length);

// The server's sentence about the scheme past its training length. Empty if the
// server does not list the scheme.
absl::StatusOr<std::string> BeyondTraining(Client& client,
                                           const std::string& scheme_name);

}  // namespace locus::client
