#include "client/report/metric.h"

#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace locus::client {
namespace {

// A metric with its name.
struct Known {
  absl::string_view name;
  Metric metric;
};

constexpr char kSharedSuffix[] = "_shared";

const std::vector<Known>& KnownMetrics() {
  using B = Better;
  static const auto* const known = new std::vector<Known>{
      {"nll",
       {"Negative log-likelihood",
        "nats per byte",
        B::kLess,
        false,
        {},
        1,
        "Negative log-probability of the next byte."}},
      {"bits_per_byte",
       {"Bits per byte",
        "bits",
        B::kLess,
        false,
        {},
        2,
        "Negative log-likelihood in bits; 8 is no compression."}},
      {"drift",
       {"Drift beyond the training length",
        "nats per byte",
        B::kLess,
        false,
        {},
        3,
        "Increase of the loss from early to late positions."}},
      {"balanced_accuracy",
       {"Balanced accuracy", "share of right answers", B::kMore, true, 0.5, 1,
        "Mean of the accuracies on ascending and on other sequences."}},
      {"positive_rate",
       {"Rate of \xe2\x80\x9cyes\xe2\x80\x9d", "share of answers", B::kNeither,
        true, 0.5, 2,
        "Share of sequences classified as ascending; half of them are."}},
      {"accuracy",
       {"Accuracy", "share of right answers", B::kMore, true, 1.0 / 180, 1,
        "Share of correct verb forms, of which there are 180."}},
      {"pair_accuracy",
       {"Pair accuracy",
        "share of pairs",
        B::kMore,
        true,
        {},
        2,
        "Share of pairs in which the form for the right person is more likely "
        "than those for other persons."}},
      {"order_accuracy",
       {"Order accuracy", "share of pairs", B::kMore, true, 0.5, 4,
        "Share of pairs in which the right order of subject and verb (he "
        "works) is more likely than the reverse (works he). The previous word "
        "suffices, so a value below 1 means that even the nearest words are "
        "lost."}},
      {"held_out_accuracy",
       {"Accuracy on held-out verbs",
        "share of right answers",
        B::kMore,
        true,
        {},
        3,
        "Accuracy on verbs that did not occur in such clauses in training."}},
      {"token_accuracy",
       {"Token accuracy", "share of right tokens", B::kMore, true, 1.0 / 16, 1,
        "Share of correct tokens in the answer; there are 16 different "
        "ones."}},
      {"exact_match",
       {"Exact match",
        "share of answers",
        B::kMore,
        true,
        {},
        2,
        "Share of answers without a wrong token."}},
      {"entropy",
       {"Entropy of attention",
        "share of its maximum",
        B::kNeither,
        false,
        {},
        1,
        "1 is uniform attention over the visible keys; 0 is attention to a "
        "single key."}},
      {"window_mass",
       {"Attention within half the training length",
        "share of the weight",
        B::kNeither,
        true,
        {},
        3,
        "Share of the attention weight within that distance."}},
      {"mean_distance",
       {"Mean attended distance",
        "tokens",
        B::kNeither,
        false,
        {},
        5,
        "Mean distance between query and key, weighted by attention."}},
      {"score_drift",
       {"Drift of the score profile",
        "nats",
        B::kNeither,
        false,
        {},
        7,
        "Absolute difference between the mean score at distances of at least "
        "the training length and below it. A bias that falls with the distance "
        "has a large drift, and keeps attention near."}},
      {"position_effect",
       {"Effect of positions",
        "share of the weight",
        B::kNeither,
        false,
        {},
        9,
        "Share of the attention weight that the scheme moves."}},
      {"similarity_decay",
       {"Decay of similarity",
        "1 \xe2\x88\x92 cosine",
        B::kNeither,
        false,
        {},
        11,
        "Dissimilarity of the encodings of distant positions."}},
      {"novelty",
       {"Novelty of encodings",
        "steps",
        B::kNeither,
        false,
        {},
        12,
        "Distance of the encoding of the last position to the nearest encoding "
        "within the training length."}},
      {"slow_pair_share",
       {"Rotary pairs slower than the training length",
        "share of pairs",
        B::kNeither,
        true,
        {},
        13,
        "Pairs that do not complete a turn within the training length."}},
      {"bias_outside_share",
       {"Biases outside the trained range",
        "share of biases",
        B::kNeither,
        true,
        {},
        14,
        "Biases that do not occur within the training length."}}};
  return *known;
}

}  // namespace

Metric MetricOf(absl::string_view name) {
  absl::string_view stem = name;
  const bool shared = absl::ConsumeSuffix(&stem, kSharedSuffix);
  for (const Known& known : KnownMetrics()) {
    if (known.name != stem) continue;
    Metric metric = known.metric;
    if (shared) {
      absl::StrAppend(&metric.title, ", shared content");
      metric.rank += 1;
    }
    return metric;
  }
  return {.title = std::string(name)};
}

std::optional<Bucket> BucketOf(absl::string_view metric) {
  if (!absl::ConsumePrefix(&metric, "nll_bucket_")) return std::nullopt;
  const std::vector<std::string> ends = absl::StrSplit(metric, '_');
  Bucket bucket;
  if (ends.size() != 2 || !absl::SimpleAtod(ends[0], &bucket.begin) ||
      !absl::SimpleAtod(ends[1], &bucket.end) || !(bucket.begin >= 0) ||
      !(bucket.end > bucket.begin) || !std::isfinite(bucket.end)) {
    return std::nullopt;
  }
  return bucket;
}

}  // namespace locus::client
