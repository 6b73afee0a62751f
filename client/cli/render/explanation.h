// What follows from a scheme's numbers, in words, rows and a picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/plot/line_chart.h"
#include "locus/v1/encoding.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// The pairs of a rotation, or of a table of sines and cosines, and what
// training has seen of them.
struct RotationFacts {
  // Whether queries and keys are turned, and can be by less with a scaling.
  bool rotates = true;
  // In a call of the target length.
  std::vector<double> frequencies;
  std::vector<double> unscaled;
  // How far a pair is on the way from untouched, 0, to slowed down by the whole
  // factor, 1. Empty without a scaling.
  std::vector<double> ramp;
  // What a pair's part of a score is multiplied by for every position of
  // distance. Empty where nothing decays.
  std::vector<double> decays;
  double attention_factor = 1;
  // 0 where nobody says; then turns are empty.
  double trained_length = 0;
  double target_length = 0;
  // Without the scaling, and with it.
  std::vector<double> trained_turns;
  std::vector<double> target_turns;
  // Pairs that turn, but not once within the trained length, unscaled: past it
  // they reach angles that no training has seen.
  std::vector<int64_t> unfinished;

  int64_t pair_count() const {
    return static_cast<int64_t>(frequencies.size());
  }
  double Wavelength(int64_t k) const;
  // How many times slower than without scaling; infinite if it stands still.
  double Stretch(int64_t k) const { return unscaled[k] / frequencies[k]; }
  bool Stands(int64_t k) const { return frequencies[k] == 0; }
};

RotationFacts FactsOf(const v1::RotationEncoding& rotation);
// A length of 0 is not known.
RotationFacts FactsOf(const v1::AdditiveEncoding& additive,
                      double trained_length, double target_length);

std::string ExplainRotation(const RotationFacts& facts);
nlohmann::ordered_json RotationJson(const RotationFacts& facts);
// Wavelengths of the pairs, with and without scaling.
plot::LineChart RotationChart(const RotationFacts& facts,
                              const std::string& title);

// A table with one row for each position.
struct TableFacts {
  int64_t table_length = 0;
  // What positions past it get, such as CLAMP.
  std::string policy;
  double trained_length = 0;  // 0 where nobody says

  // Rows that no training sequence reaches.
  int64_t UntrainedRows() const;
};
std::string ExplainTable(const TableFacts& facts);
nlohmann::ordered_json TableJson(const TableFacts& facts);
// How far the code of each position is from the one before: [T, dim].
absl::StatusOr<plot::LineChart> TableChart(const v1::Tensor& table,
                                           const TableFacts& facts,
                                           const std::string& title);

// A bias of one query for the keys before it, [H, 1, T], nearest last: slopes,
// buckets and other numbers that it has, and what it is at some distances.
absl::StatusOr<std::string> ExplainBias(const v1::BiasEncoding& bias);
absl::StatusOr<nlohmann::ordered_json> BiasJson(const v1::BiasEncoding& bias);
absl::StatusOr<plot::LineChart> BiasChart(const v1::BiasEncoding& bias,
                                          const std::string& title);

}  // namespace locus::client
