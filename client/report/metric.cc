#include "client/report/metric.h"

#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace locus::client {
namespace {

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
        "How surprised the model is by the next byte."}},
      {"bits_per_byte",
       {"Bits per byte",
        "bits",
        B::kLess,
        false,
        {},
        2,
        "The same in bits: 8 is no compression at all."}},
      {"drift",
       {"Drift beyond the training length",
        "nats per byte",
        B::kLess,
        false,
        {},
        3,
        "How much worse late positions are predicted than early "
        "ones."}},
      {"balanced_accuracy",
       {"Balanced accuracy", "share of right answers", B::kMore, true, 0.5, 1,
        "Mean of the shares of ascending and of other "
        "sequences recognised."}},
      {"positive_rate",
       {"Rate of \xe2\x80\x9cyes\xe2\x80\x9d", "share of answers", B::kNeither,
        true, 0.5, 2,
        "How often the answer is that the sequence is "
        "ascending; half of them are."}},
      {"accuracy",
       {"Accuracy",
        "share of right answers",
        B::kMore,
        true,
        {},
        1,
        "Right verb forms."}},
      {"pair_accuracy",
       {"Pair accuracy",
        "share of pairs",
        B::kMore,
        true,
        {},
        2,
        "How often the form for the right person is likelier than those for "
        "other persons."}},
      {"order_accuracy",
       {"Order accuracy", "share of pairs", B::kMore, true, 0.5, 4,
        "How often the right order of subject and verb, he works, is likelier "
        "than the other, works he. The word before tells, so that less than 1 "
        "means that even the nearest words are lost."}},
      {"held_out_accuracy",
       {"Accuracy on held-out verbs",
        "share of right answers",
        B::kMore,
        true,
        {},
        3,
        "Verbs that training did not show in such "
        "clauses."}},
      {"token_accuracy",
       {"Token accuracy",
        "share of right tokens",
        B::kMore,
        true,
        {},
        1,
        "Tokens of the answer that are right."}},
      {"exact_match",
       {"Exact match",
        "share of answers",
        B::kMore,
        true,
        {},
        2,
        "Answers without a single wrong token."}},
      {"entropy",
       {"Entropy of attention",
        "share of its largest",
        B::kNeither,
        false,
        {},
        1,
        "1: every visible key gets the same; 0: one key gets "
        "everything."}},
      {"window_mass",
       {"Attention within half the training length",
        "share of the weight",
        B::kNeither,
        true,
        {},
        3,
        "How much of the attention stays near."}},
      {"mean_distance",
       {"Mean attended distance",
        "tokens",
        B::kNeither,
        false,
        {},
        5,
        "How far away attention looks, on average."}},
      {"score_drift",
       {"Drift of the score profile",
        "",
        B::kNeither,
        false,
        {},
        7,
        "How much scores at distances beyond the training "
        "length differ from those within."}},
      {"position_effect",
       {"Effect of positions",
        "share of the weight",
        B::kNeither,
        false,
        {},
        9,
        "How much of the attention moves because of the "
        "scheme."}},
      {"similarity_decay",
       {"Decay of similarity",
        "1 \xe2\x88\x92 cosine",
        B::kNeither,
        false,
        {},
        11,
        "How unlike the codes of distant positions are."}},
      {"novelty",
       {"Novelty of codes",
        "steps",
        B::kNeither,
        false,
        {},
        12,
        "How far the code of the last position is from any code "
        "within the training length."}},
      {"slow_pair_share",
       {"Rotary pairs slower than the training length",
        "share of pairs",
        B::kNeither,
        true,
        {},
        13,
        "Pairs that never completed a turn in training."}},
      {"bias_outside_share",
       {"Biases outside the trained range",
        "share of biases",
        B::kNeither,
        true,
        {},
        14,
        "Biases that training never showed."}}};
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
