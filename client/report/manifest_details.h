// Optional parts of a manifest that only reports use. Manifests of older
// servers do not have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/report/manifest.h"

namespace locus::client {

// The conclusion of the evaluation.
struct VerdictDetails {
  // Empty if there is no winner.
  std::string winner;
  // Such as "winner", "at_chance", "one_seed" or "pattern"; may be empty.
  std::string kind;
  std::string text;
  // The suggested next experiment; may be empty.
  std::string next_step;
};

// The training losses of one run. `steps` and `losses` have the same length.
struct TrainingLosses {
  std::string scheme;
  int64_t seed = 0;
  std::vector<double> steps;
  std::vector<double> losses;
};

// The longest length at which a scheme works about as well as in range.
struct EffectiveLengthDetails {
  std::string scheme;
  std::string metric;
  double length = 0;
  double ci_low = 0;
  double ci_high = 0;
  double threshold = 0;
};

// The distribution of a metric over the seeds.
struct SpreadDetails {
  std::string scheme;
  std::string metric;
  double eval_length = 0;
  double min = 0;
  double q25 = 0;
  double median = 0;
  double q75 = 0;
  double max = 0;
  // Unset if the metric is not a share of right answers.
  std::optional<double> share_above_95;
};

// Returns the conclusion, from the winner and the reason if the manifest has no
// verdict. A partial evaluation has no winner.
VerdictDetails VerdictOf(const Manifest& manifest);

// Return the entries of lists in the manifest. Entries that lack a field or
// have a field of another type are left out.
std::vector<TrainingLosses> TrainingCurvesOf(const Manifest& manifest);
std::vector<EffectiveLengthDetails> EffectiveLengthsOf(
    const Manifest& manifest);
std::vector<SpreadDetails> SpreadsOf(const Manifest& manifest);

// Returns the number of seeds of the evaluation.
int64_t SeedCountOf(const Manifest& manifest);

}  // namespace locus::client
