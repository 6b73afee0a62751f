// Pictures of what a scheme does, from the answers of Encode and Attend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/plot/scene.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"

namespace locus::client {

// What every picture is told.
struct PictureOptions {
  // Empty: made up from the scheme.
  std::string title;
  std::string scheme_name;
  v1::Positions positions;
  // The width that the scheme was asked for.
  int64_t dim = 0;
};

// Each is a usage error for a scheme it does not apply to, and then says which
// pictures do. Tensors of the response have passed CheckTensor.

// The table that is added to embeddings: positions down, channels to the right.
absl::StatusOr<plot::Scene> HeatmapPicture(const PictureOptions& options,
                                           const v1::EncodeResponse& response);

// The cosine between the codes of any two positions. The code of a position is
// its row of the table; where queries and keys are rotated, it is what becomes
// of a vector of ones, so that the picture shows what the score of equal
// content is at every distance.
absl::StatusOr<plot::Scene> SimilarityPicture(
    const PictureOptions& options, const v1::EncodeResponse& response);

// Channels of the table over the positions, or cosine and sine of pairs.
// `channels` empty: a few, from the fastest to the slowest.
absl::StatusOr<plot::Scene> WaveformPicture(
    const PictureOptions& options, const v1::EncodeResponse& response,
    const std::vector<int64_t>& channels);

// What is added to the scores, head by head.
absl::StatusOr<plot::Scene> BiasPicture(const PictureOptions& options,
                                        const v1::EncodeResponse& response);

// Who looks at whom, head by head. weights: [1, H, T, T]. What a word does not
// see, the options of the call say: a weight of a word that it does see can be
// so small that it is 0.
absl::StatusOr<plot::Scene> AttentionPicture(
    const PictureOptions& options, const std::vector<std::string>& words,
    const v1::AttentionOptions& attention, const v1::Tensor& weights);

}  // namespace locus::client
