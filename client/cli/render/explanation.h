// The explanations of `locus explain` as text, JSON and charts: wavelengths and
// turns of rotations, rows of learned tables, and biases by distance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/angle_verdict.h"
#include "client/cli/render/bias_facts.h"
#include "client/cli/render/rotation_facts.h"
#include "client/plot/line_chart.h"
#include "locus/v1/encoding.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// The angles of a pair at the target length in a few words, for a table cell.
std::string AnglesText(const PairVerdict& pair);
// The verdict in sentences: whether the target length is safe, up to which
// length the scheme is safe, and why. The first one is the headline.
std::vector<std::string> AngleVerdictSentences(const RotationFacts& facts,
                                               const AngleVerdict& verdict);
nlohmann::ordered_json AngleVerdictJson(const RotationFacts& facts,
                                        const AngleVerdict& verdict);

// The table of all pairs and the verdict.
std::string ExplainRotation(const RotationFacts& facts,
                            const AngleVerdict& verdict);
nlohmann::ordered_json RotationJson(const RotationFacts& facts,
                                    const AngleVerdict& verdict);
// Line chart of the wavelengths of the pairs, with and without scaling, and
// lines at the trained and the target length.
plot::LineChart RotationChart(const RotationFacts& facts,
                              const std::string& title);

// A learned table with one row per position.
struct TableFacts {
  int64_t table_length = 0;
  // The policy for positions past the table, such as CLAMP.
  std::string policy;
  // 0 if unknown.
  double trained_length = 0;

  // Number of rows past the trained length.
  int64_t UntrainedRows() const;
  // The longest sequence for which training reaches every row, at most the
  // length of the table.
  int64_t SafeLength() const;
};
// Sentences about positions past the rows that training reaches. The first one
// is the headline.
std::vector<std::string> TableVerdictSentences(const TableFacts& facts);
std::string ExplainTable(const TableFacts& facts);
nlohmann::ordered_json TableJson(const TableFacts& facts);
// Line chart of the Euclidean distance between the codes of adjacent positions.
// `table` has the shape [T, dim].
absl::StatusOr<plot::LineChart> TableChart(const v1::Tensor& table,
                                           const TableFacts& facts,
                                           const std::string& title);

// Sentences about lengths past the trained one: `beyond_training` of the
// scheme's description and, if the verdict is known, the heads within and
// outside of their trained biases. The first one is the headline.
std::vector<std::string> BiasVerdictSentences(
    const BiasVerdict& verdict, const std::string& beyond_training);
nlohmann::ordered_json BiasVerdictJson(const BiasVerdict& verdict,
                                       const std::string& beyond_training);

// Explains the bias of one query for the keys before it, which has the shape
// [H, 1, T] with the nearest key last: the slopes, buckets and other parameters
// per head, and the bias at a few distances.
absl::StatusOr<std::string> ExplainBias(const v1::BiasEncoding& bias);
absl::StatusOr<nlohmann::ordered_json> BiasJson(const v1::BiasEncoding& bias);
// Line chart of the bias of each head over the distance.
absl::StatusOr<plot::LineChart> BiasDistanceChart(const v1::BiasEncoding& bias,
                                                  const std::string& title);

}  // namespace locus::client
