// The explanations of `locus explain` as text, JSON and charts: wavelengths and
// turns of rotations, rows of learned tables, and biases by distance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/plot/line_chart.h"
#include "locus/v1/encoding.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// The channel pairs of a rotation, or of a table of sines and cosines, and how
// far each pair turns within the training length and the target length. A list
// that is not empty has one element per pair.
struct RotationFacts {
  // Whether the scheme rotates queries and keys. False for tables, which have
  // no scaling and no attention factor.
  bool rotates = true;
  // Radians per position in a call of the target length, with the scaling.
  std::vector<double> frequencies;
  // Radians per position without the scaling.
  std::vector<double> unscaled;
  // The share of the scaling applied to a pair, from 0 (unchanged) to 1 (slowed
  // down by the full factor). Empty without a scaling.
  std::vector<double> ramp;
  // The factor by which the contribution of a pair to the score decays per
  // position of distance. Empty for schemes without decay.
  std::vector<double> decays;
  double attention_factor = 1;
  // 0 if unknown; the lists of turns are empty then.
  double trained_length = 0;
  double target_length = 0;
  // Turns within the trained length without scaling, and within the target
  // length with scaling.
  std::vector<double> trained_turns;
  std::vector<double> target_turns;
  // Pairs that rotate but complete no turn within the trained length, without
  // scaling. Past that length they reach angles that training never covers.
  std::vector<int64_t> unfinished;

  int64_t pair_count() const {
    return static_cast<int64_t>(frequencies.size());
  }
  // Positions per turn; infinite if the pair does not rotate.
  double Wavelength(int64_t k) const;
  // The factor by which scaling slows the pair down; infinite if it does not
  // rotate.
  double Stretch(int64_t k) const { return unscaled[k] / frequencies[k]; }
  bool IsStatic(int64_t k) const { return frequencies[k] == 0; }
};

// Facts about a rotation. Returns empty facts if the lists sent by the server
// have different lengths.
RotationFacts FactsOf(const v1::RotationEncoding& rotation);
// Facts about a table of sines and cosines. A length of 0 is unknown.
RotationFacts FactsOf(const v1::AdditiveEncoding& additive,
                      double trained_length, double target_length);

std::string ExplainRotation(const RotationFacts& facts);
nlohmann::ordered_json RotationJson(const RotationFacts& facts);
// Line chart of the wavelengths of the pairs, with and without scaling.
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
};
std::string ExplainTable(const TableFacts& facts);
nlohmann::ordered_json TableJson(const TableFacts& facts);
// Line chart of the Euclidean distance between the codes of adjacent positions.
// `table` has the shape [T, dim].
absl::StatusOr<plot::LineChart> TableChart(const v1::Tensor& table,
                                           const TableFacts& facts,
                                           const std::string& title);

// Explains the bias of one query for the keys before it, which has the shape
// [H, 1, T] with the nearest key last: the slopes, buckets and other parameters
// per head, and the bias at a few distances.
absl::StatusOr<std::string> ExplainBias(const v1::BiasEncoding& bias);
absl::StatusOr<nlohmann::ordered_json> BiasJson(const v1::BiasEncoding& bias);
// Line chart of the bias of each head over the distance.
absl::StatusOr<plot::LineChart> BiasDistanceChart(const v1::BiasEncoding& bias,
                                                  const std::string& title);

}  // namespace locus::client
