// T5 relative position bias.
//
//   bias(h, i, j) = table[bucket(j - i), h]
//
// Raffel et al., 2020, "Exploring the Limits of Transfer Learning", section
// 2.1, with the buckets of its published code. Let B be the number of buckets
// per direction (half of all buckets if bidirectional). The first E = B / 2
// buckets hold one distance each; bucket E + t begins at the distance n where
//
//   ln(n / E) / ln(max_distance / E) (B - E)  reaches  t,
//
// and the last bucket is unbounded. Bucket edges are computed once, as
// integers, so that no logarithm is rounded at run time. Past the training
// length all distances share the last bucket and its learned bias.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/scheme.h"

namespace locus {
namespace {

// Max count of numbers drawn from a seed. It bounds the memory of a call whose
// request takes only a few bytes.
constexpr int64_t kMaxDrawn = int64_t{1} << 20;

// The first distance of each bucket from bucket `exact` on.
std::vector<int64_t> LogarithmicEdges(int64_t bucket_count, int64_t exact,
                                      int64_t max_distance) {
  std::vector<int64_t> edges;
  const long double ratio =
      static_cast<long double>(max_distance) / static_cast<long double>(exact);
  for (int64_t t = 0; t < bucket_count - exact; ++t) {
    const long double edge =
        static_cast<long double>(exact) *
        std::pow(ratio, static_cast<long double>(t) /
                            static_cast<long double>(bucket_count - exact));
    // An edge that is an integer in exact arithmetic must not be rounded up to
    // the next one because of an error of the power.
    edges.push_back(static_cast<int64_t>(std::ceil(edge * (1 - 1e-17L))));
  }
  return edges;
}

// Maps distances to buckets, for one direction.
class Buckets {
 public:
  Buckets(int64_t bucket_count, int64_t max_distance)
      : exact_(bucket_count / 2),
        edges_(LogarithmicEdges(bucket_count, exact_, max_distance)) {}

  int64_t operator()(int64_t distance) const {
    if (distance < exact_) return distance;
    const auto after = std::upper_bound(edges_.begin(), edges_.end(), distance);
    return exact_ + (after - edges_.begin()) - 1;
  }

  // The first distance of each bucket, except that of distance 0.
  std::vector<int64_t> edges() const {
    std::vector<int64_t> all;
    for (int64_t n = 1; n < exact_; ++n) all.push_back(n);
    for (const int64_t edge : edges_) {
      if (edge > 0 && (all.empty() || edge > all.back())) all.push_back(edge);
    }
    return all;
  }

 private:
  const int64_t exact_;
  const std::vector<int64_t> edges_;
};

struct T5Shape {
  int64_t bucket_count;
  int64_t max_distance;
  bool bidirectional;

  int64_t BucketsPerDirection() const {
    return bidirectional ? bucket_count / 2 : bucket_count;
  }
};

class T5ScoreBias final : public ScoreBias {
 public:
  T5ScoreBias(const T5Shape& shape, std::shared_ptr<const Buckets> buckets,
              int64_t head_count, std::vector<double> table, bool trainable)
      : trainable_(trainable),
        bidirectional_(shape.bidirectional),
        upper_half_(shape.BucketsPerDirection()),
        buckets_(std::move(buckets)),
        head_count_(head_count),
        table_(std::move(table)),
        is_bounded_(absl::c_all_of(
            table_, [](double value) { return std::abs(value) <= 64; })) {}

  bool is_bounded() const override { return is_bounded_; }

  double At(int64_t head, int64_t query_position,
            int64_t key_position) const override {
    return table_[Entry(head, query_position - key_position)];
  }

  std::vector<int64_t> bucket_edges() const override {
    return buckets_->edges();
  }

  absl::Span<double> parameters() override {
    return trainable_ ? absl::MakeSpan(table_) : absl::Span<double>();
  }
  void Backward(int64_t head, int64_t query_position, int64_t key_position,
                double d_bias, absl::Span<double> d_table) const override {
    d_table[Entry(head, query_position - key_position)] += d_bias;
  }

 private:
  // offset: query position minus key position.
  int64_t Bucket(int64_t offset) const {
    if (offset >= 0) return (*buckets_)(offset);
    return bidirectional_ ? upper_half_ + (*buckets_)(-offset) : 0;
  }

  // Index into table_.
  int64_t Entry(int64_t head, int64_t offset) const {
    return Bucket(offset) * head_count_ + head;
  }

  const bool trainable_;
  const bool bidirectional_;
  const int64_t upper_half_;
  const std::shared_ptr<const Buckets> buckets_;
  const int64_t head_count_;
  std::vector<double> table_;  // [bucket_count, head_count]
  const bool is_bounded_;
};

class T5Bias final : public SchemeFormula {
 public:
  // If `table` is empty, it is drawn from the seed for the heads of each call.
  T5Bias(const T5Shape& shape, uint64_t seed, int64_t head_count,
         std::vector<double> table)
      : shape_(shape),
        buckets_(std::make_shared<Buckets>(shape.BucketsPerDirection(),
                                           shape.max_distance)),
        seed_(seed),
        head_count_(head_count),
        table_(std::move(table)) {}

  int64_t head_count() const override { return head_count_; }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    if (!table_.empty()) {
      if (head_count_ != geometry.head_count) {
        return InvalidField(
            "table.shape",
            absl::StrCat("is [", shape_.bucket_count, ", ", head_count_,
                         "]; the call has ", geometry.head_count, " heads"));
      }
      return std::make_unique<T5ScoreBias>(shape_, buckets_, head_count_,
                                           table_, geometry.trainable);
    }
    if (shape_.bucket_count * geometry.head_count > kMaxDrawn) {
      return LimitExceeded(
          "bucket_count", "max_drawn_biases",
          absl::StrCat("is ", shape_.bucket_count, " for ", geometry.head_count,
                       " heads; at most ", kMaxDrawn,
                       " biases are drawn from a seed"));
    }
    std::vector<double> drawn(shape_.bucket_count * geometry.head_count);
    RandomStream(seed_, "t5_bias.table").FillNormal(1, absl::MakeSpan(drawn));
    return std::make_unique<T5ScoreBias>(shape_, buckets_, geometry.head_count,
                                         std::move(drawn), geometry.trainable);
  }

 private:
  const T5Shape shape_;
  // Shared by all compilations: with thousands of buckets, computing the edges
  // would dominate the time of a compilation.
  const std::shared_ptr<const Buckets> buckets_;
  const uint64_t seed_;
  const int64_t head_count_;  // 0: any
  const std::vector<double> table_;
};

absl::Status CheckShape(const T5Shape& shape) {
  if (shape.bidirectional &&
      (shape.bucket_count % 2 != 0 || shape.bucket_count < 4)) {
    return InvalidField("bucket_count",
                        absl::StrCat("is ", shape.bucket_count,
                                     "; must be even and at least 4 when "
                                     "bidirectional"));
  }
  if (const int64_t exact = shape.BucketsPerDirection() / 2;
      shape.max_distance <= exact) {
    return InvalidField(
        "max_distance",
        absl::StrCat("is ", shape.max_distance, "; must be more than the ",
                     exact, " distances with a bucket of their own"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  const T5Shape shape{.bucket_count = arguments.Integer("bucket_count"),
                      .max_distance = arguments.Integer("max_distance"),
                      .bidirectional = arguments.Flag("bidirectional")};
  LOCUS_RETURN_IF_ERROR(CheckShape(shape));
  if (!arguments.Has("table")) {
    return std::make_unique<T5Bias>(shape, arguments.Seed("seed"), 0,
                                    std::vector<double>());
  }
  const TensorView& given = arguments.Tensor("table");
  if (given.rank() != 2 || given.extent(0) != shape.bucket_count ||
      given.extent(1) < 1) {
    return InvalidField(
        "table.shape", absl::StrCat("is ", ToString(given.shape), "; must be [",
                                    shape.bucket_count, ", heads]"));
  }
  std::vector<double> table(given.element_count());
  ReadRow(given.dtype, given.data, given.element_count(), table.data());
  return std::make_unique<T5Bias>(shape, 0, given.extent(1), std::move(table));
}

// A bidirectional model needs buckets on both sides of a query. The published
// models were trained at four times max_distance; a max_distance of half the
// training length ensures that every bucket is trained here, too.
void ApplyTrainingDefaults(const TrainingSetting& setting,
                           Arguments* arguments) {
  if (!setting.causal) arguments->Set("bidirectional", true);
  if (arguments->Has("max_distance") || arguments->Has("bucket_count")) return;
  const int64_t exact = setting.causal ? 16 : 8;  // with 32 buckets
  arguments->Set("max_distance", std::clamp<int64_t>(setting.train_length / 2,
                                                     exact * 3 / 2, 128));
}

}  // namespace

SchemeInfo DescribeT5Bias() {
  return {
      .name = "t5_bias",
      .title = "T5 relative bias",
      .site = Site::kScores,
      .parameters =
          {{.kind = ParameterKind::kInteger,
            .name = "bucket_count",
            .description = "number of buckets of distances",
            .default_number = 32,
            .min = 2,
            .max = 4096},
           {.kind = ParameterKind::kInteger,
            .name = "max_distance",
            .description =
                "the last bucket holds all distances from about this "
                "one on",
            .default_number = 128,
            .min = 1,
            .max = 0x1p53},
           {.kind = ParameterKind::kFlag,
            .name = "bidirectional",
            .description = "use half of the buckets for keys after the query"},
           {.kind = ParameterKind::kTensor,
            .name = "table",
            .description = "biases, [bucket_count, heads]; instead of seed"},
           {.kind = ParameterKind::kSeed,
            .name = "seed",
            .description = "seed of the biases, which are drawn from N(0, 1)"}},
      .promises = {kNo, kYes, kYes, kNotApplicable, kNotApplicable,
                   kNotApplicable, kYes, kNo, kNo, kNo, kYes,
                   Promise{Promise::Answer::kNo,
                           "far distances share the last bucket"},
                   kYes},
      .reference = "Raffel et al., 2020, arXiv:1910.10683",
      .beyond_training = "All far distances share the last bucket.",
      .make = Make,
      .apply_training_defaults = ApplyTrainingDefaults,
  };
}

}  // namespace locus
