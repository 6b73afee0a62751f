// Calls of `locus explain` and `locus compare`: encodings with default sizes,
// and the verdicts that need answers for more than one length.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/angle_verdict.h"
#include "client/cli/render/bias_facts.h"
#include "client/cli/render/picture_file.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/plot/line_chart.h"
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

// The server's description of a scheme. Empty if the server does not list it.
absl::StatusOr<v1::SchemeDescription> DescribeScheme(
    Client& client, const std::string& scheme_name);

// The file of a chart that a command draws beside its text; its path is empty
// if `path` is. Returns a usage error if the path or the theme is invalid, the
// theme is given without a path, or JSON and chart both go to standard output.
// `flag` is the name of the flag for the path.
absl::StatusOr<PictureFile> ReadOptionalPicture(const std::string& path,
                                                const std::string& theme,
                                                const std::string& flag,
                                                bool json);

// Prints `text`, writes the chart, and names the file unless `json`. A chart
// for standard output is printed instead of the text.
absl::StatusOr<Outcome> PrintAndDraw(const std::string& text, bool json,
                                     const plot::LineChart& chart,
                                     const PictureFile& picture);

}  // namespace locus::client
