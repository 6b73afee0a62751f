#include "core/properties/attention_properties.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/attention/module.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/parallel/thread_pool.h"

namespace locus {
namespace {

using Ids = std::vector<int64_t>;

constexpr uint64_t kSeed = 42;
constexpr int64_t kWidth = 8;
// A layer of more takes its time.
constexpr int64_t kMaxLayerWidth = 256;
// The course's case, and what it calls the same.
constexpr int64_t kPermutation[] = {2, 0, 1};
constexpr double kTolerance = 1e-6;
// Smaller ones move outputs by about the tolerance or less.
constexpr double kLeastBias = 1e-4;

Row Values(const Tensor& tensor) {
  Row values(tensor.element_count());
  ReadRow(tensor.dtype(), tensor.view().data, tensor.element_count(),
          values.data());
  return values;
}

// One layer with seeded weights in double precision. A query sees all tokens
// or, if the scheme is a bias that means nothing otherwise, those whose
// position is not after its own.
class Layer {
 public:
  static absl::StatusOr<Layer> Make(const Scheme& scheme) {
    LOCUS_ASSIGN_OR_RETURN(const Probe probe,
                           Probe::Make(scheme, 1, kWidth, 1));
    const int64_t heads = std::max<int64_t>(scheme.head_count(), 1);
    const int64_t head_dim =
        scheme.site() == Site::kScores && heads > 64 ? 1 : probe.dim();
    if (heads * head_dim > kMaxLayerWidth) {
      return absl::InvalidArgumentError(
          absl::StrCat("a layer of ", heads, " heads of ", head_dim,
                       " channels is wider than ", kMaxLayerWidth,
                       ", the widest that is tried out"));
    }
    return Layer(scheme, heads * head_dim, heads, probe.is_causal());
  }

  // INVALID_ARGUMENT if the scheme's own table has fewer rows: past it, rows
  // are copies and say nothing of the scheme.
  absl::Status CheckTable(int64_t token_count) const {
    const int64_t rows = scheme_.table_length();
    if (rows == 0 || rows >= token_count) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the case needs ", token_count,
                     " positions, which is past the table's ", rows, " rows"));
  }

  // INVALID_ARGUMENT if the scheme adds something to the scores of so few
  // tokens, but so little that outputs cannot show it.
  absl::Status CheckBias(int64_t token_count) const {
    LOCUS_ASSIGN_OR_RETURN(
        const Probe probe,
        Probe::Make(scheme_, token_count, width_ / head_count_, head_count_));
    if (probe.bias() == nullptr) return absl::OkStatus();
    double largest = 0;
    for (int64_t n = 0; n < token_count; ++n) {
      largest = std::max(largest, LargestMagnitude(probe.Mark(n)));
    }
    if (largest == 0 || !(largest < kLeastBias)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the biases of ", token_count, " tokens are at most ", largest,
        ", too little beside scores of about 1 to tell distances apart"));
  }

  bool is_causal() const { return causal_; }
  int64_t width() const { return width_; }
  // "width 8, 1 head(s), unmasked".
  std::string Words() const {
    return absl::StrCat(
        "width ", width_, ", ",
        head_count_ == 1 ? "one head" : absl::StrCat(head_count_, " heads"),
        causal_ ? ", causal" : ", unmasked");
  }

  // x: [tokens, width], N(0, 1).
  Row Tokens(int64_t count) const {
    Row x(count * width_);
    RandomStream(kSeed, "properties.tokens").FillNormal(1, absl::MakeSpan(x));
    return x;
  }

  // Row n of the result is row order[n] of x.
  Row Permuted(const Row& x, const Ids& order) const {
    Row permuted;
    for (const int64_t from : order) {
      permuted.insert(permuted.end(), x.begin() + from * width_,
                      x.begin() + (from + 1) * width_);
    }
    return permuted;
  }

  absl::StatusOr<AttentionOutputs> Run(const Row& x,
                                       const Ids& position_ids) const {
    const int64_t length = static_cast<int64_t>(position_ids.size());
    ModuleInputs inputs;
    inputs.x = TensorView{DType::kFloat64, {1, length, width_}, Bytes(x)};
    inputs.weights = ModuleWeights{Matrix(0), Matrix(1), Matrix(2), Matrix(3)};
    inputs.head_count = head_count_;
    AttentionOptions options;
    LOCUS_ASSIGN_OR_RETURN(options.query_positions,
                           Positions::Ids(position_ids));
    options.key_positions = options.query_positions;
    options.return_weights = true;
    std::string visible;
    if (causal_) {
      // Causality by position, so that it travels with the tokens: by place,
      // every query stands after all keys.
      options.causal = true;
      options.query_offset = length;
      for (const int64_t query : position_ids) {
        for (const int64_t key : position_ids) {
          visible.push_back(static_cast<char>(key <= query));
        }
      }
      options.mask = TensorView{DType::kBool, {length, length}, visible.data()};
    }
    LOCUS_ASSIGN_OR_RETURN(
        const ModuleJob job,
        ModuleJob::Create(scheme_, std::move(inputs), std::move(options)));
    ThreadPool alone(1);
    return job.Run(alone, nullptr);
  }

 private:
  Layer(const Scheme& scheme, int64_t width, int64_t head_count, bool causal)
      : scheme_(scheme),
        width_(width),
        head_count_(head_count),
        causal_(causal),
        weights_(4 * width * width) {
    // Of variance 1 / width; uniform, since wide ones are drawn often.
    RandomStream stream(kSeed, "properties.weights");
    const double reach = std::sqrt(3 / static_cast<double>(width));
    for (double& weight : weights_) weight = reach * (2 * stream.Uniform() - 1);
  }

  static const char* Bytes(const Row& row) {
    return reinterpret_cast<const char*>(row.data());
  }
  TensorView Matrix(int64_t n) const {
    return {DType::kFloat64,
            {width_, width_},
            Bytes(weights_) + n * width_ * width_ * sizeof(double)};
  }

  const Scheme& scheme_;
  const int64_t width_;
  const int64_t head_count_;
  const bool causal_;
  Row weights_;  // wq, wk, wv, wo
};

Ids Range(int64_t start, int64_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), start);
  return ids;
}

std::string Words(const Ids& ids) {
  return absl::StrCat("[", absl::StrJoin(ids, ", "), "]");
}

// The last query sees every token under a causal mask, so that its output alone
// tells whether their order matters.
absl::StatusOr<Outcome> LastQueryCase(const Layer& layer) {
  const Row x = layer.Tokens(3);
  LOCUS_ASSIGN_OR_RETURN(const auto plain, layer.Run(x, Range(0, 3)));
  LOCUS_ASSIGN_OR_RETURN(const auto swapped,
                         layer.Run(layer.Permuted(x, {1, 0, 2}), Range(0, 3)));
  const auto last = [&](const AttentionOutputs& out) {
    const Row values = Values(out.output);
    return Row(values.end() - layer.width(), values.end());
  };
  const double difference = LargestDifference(last(plain), last(swapped));
  return Measured(
      difference, kTolerance,
      absl::StrCat("The scheme is causal, and a causal mask alone breaks "
                   "permutation equivariance, so only the last query is "
                   "looked at, which sees all tokens: 3 tokens, ",
                   layer.Words(),
                   "; when the two before it change places while positions "
                   "stay, its output changes by at most ",
                   difference, "."));
}

absl::StatusOr<Outcome> PermutationCase(const Scheme& scheme, bool joint) {
  LOCUS_ASSIGN_OR_RETURN(const Layer layer, Layer::Make(scheme));
  LOCUS_RETURN_IF_ERROR(layer.CheckTable(3));
  if (!joint) LOCUS_RETURN_IF_ERROR(layer.CheckBias(3));
  if (!joint && layer.is_causal()) return LastQueryCase(layer);
  const Ids order(std::begin(kPermutation), std::end(kPermutation));
  const Row x = layer.Tokens(3);
  LOCUS_ASSIGN_OR_RETURN(const auto plain, layer.Run(x, Range(0, 3)));
  LOCUS_ASSIGN_OR_RETURN(
      const auto permuted,
      layer.Run(layer.Permuted(x, order), joint ? order : Range(0, 3)));
  const double difference = LargestDifference(
      Values(permuted.output), layer.Permuted(Values(plain.output), order));
  return Measured(
      difference, kTolerance,
      absl::StrCat("3 tokens, ", layer.Words(), ", permuted as ", Words(order),
                   joint ? " with their positions" : " while positions stay",
                   layer.is_causal() ? " (and the mask by position)" : "",
                   ": the outputs differ from the permuted outputs by at most ",
                   difference, "."));
}

absl::StatusOr<Outcome> ShiftCase(const Scheme& scheme) {
  constexpr int64_t kTokens = 8;
  constexpr int64_t kShifts[] = {1, 17, 100, 1000};
  LOCUS_ASSIGN_OR_RETURN(const Layer layer, Layer::Make(scheme));
  LOCUS_RETURN_IF_ERROR(layer.CheckTable(kTokens + 1));
  const Row x = layer.Tokens(kTokens);
  LOCUS_ASSIGN_OR_RETURN(const auto here, layer.Run(x, Range(0, kTokens)));
  Ids shifts;
  double largest = 0;
  for (const int64_t shift : kShifts) {
    const auto there = layer.Run(x, Range(shift, kTokens));
    // A table ends; one step must be possible.
    if (!there.ok() && shifts.empty()) return there.status();
    if (!there.ok()) break;
    const double difference =
        LargestDifference(Values(*there->weights), Values(*here.weights));
    if (!(difference <= largest)) largest = difference;
    shifts.push_back(shift);
  }
  return Measured(
      largest, kTolerance,
      absl::StrCat("8 tokens, ", layer.Words(), ", all positions shifted by ",
                   absl::StrJoin(shifts, ", "),
                   ": attention weights change by at most ", largest, "."));
}

absl::StatusOr<Outcome> BoundedCase(const Scheme& scheme) {
  constexpr int64_t kTokens = 8;
  constexpr int64_t kFar = int64_t{1} << 20;
  LOCUS_ASSIGN_OR_RETURN(const Layer layer, Layer::Make(scheme));
  const Row x = layer.Tokens(kTokens);
  LOCUS_ASSIGN_OR_RETURN(const auto near, layer.Run(x, Range(0, kTokens)));
  LOCUS_ASSIGN_OR_RETURN(const auto far,
                         layer.Run(x, Range(kFar - kTokens, kTokens)));
  const double ratio = LargestMagnitude(Values(far.output)) /
                       LargestMagnitude(Values(near.output));
  return Measured(
      ratio, 1.6,
      absl::StrCat("8 tokens, ", layer.Words(),
                   ", once at the first positions and once before position ",
                   kFar, ": the outputs are ", ratio, " times as large."));
}

Outcome Ran(const absl::StatusOr<Outcome>& outcome) {
  return outcome.ok() ? *outcome : NotRun(outcome.status().message());
}

}  // namespace

Outcome PermutationEquivariance(const Scheme& scheme) {
  return Ran(PermutationCase(scheme, /*joint=*/false));
}

Outcome JointEquivariance(const Scheme& scheme) {
  return Ran(PermutationCase(scheme, /*joint=*/true));
}

Outcome ShiftInvariance(const Scheme& scheme) { return Ran(ShiftCase(scheme)); }

Outcome LayerBoundedness(const Scheme& scheme) {
  return Ran(BoundedCase(scheme));
}

}  // namespace locus
