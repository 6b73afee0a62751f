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

// Width of one head, unless the scheme's parameters fix another.
constexpr int64_t kHeadWidth = 8;
// Wider layers are not run, to bound the time of a check.
constexpr int64_t kMaxLayerWidth = 256;
// Permutation of the three tokens of the equivariance checks.
constexpr int64_t kPermutation[] = {2, 0, 1};
// Largest difference of outputs or weights that count as equal.
constexpr double kTolerance = 1e-6;
// Biases below this magnitude change the outputs by about kTolerance or less.
constexpr double kMinBias = 1e-4;

// Elements of a tensor in double precision.
RealVector Values(const Tensor& tensor) {
  RealVector values(tensor.element_count());
  ReadRow(tensor.dtype(), tensor.view().data, tensor.element_count(),
          values.data());
  return values;
}

// A multi-head attention layer with seeded weights, in double precision. A
// query attends to all tokens or, if the scheme is causal, to the tokens whose
// position does not exceed its own. `scheme` must outlive the layer.
class Layer {
 public:
  static absl::StatusOr<Layer> Make(const Scheme& scheme) {
    LOCUS_ASSIGN_OR_RETURN(const Probe probe,
                           Probe::Make(scheme, 1, kHeadWidth, 1));
    const int64_t heads = std::max<int64_t>(scheme.head_count(), 1);
    const int64_t head_dim =
        scheme.site() == Site::kScores && heads > 64 ? 1 : probe.dim();
    if (heads * head_dim > kMaxLayerWidth) {
      return absl::InvalidArgumentError(
          absl::StrCat("a layer of ", heads, " heads of ", head_dim,
                       " channels is wider than ", kMaxLayerWidth,
                       ", the maximum for this check"));
    }
    return Layer(scheme, heads * head_dim, heads, probe.is_causal());
  }

  // Returns INVALID_ARGUMENT if the scheme's table has fewer than token_count
  // rows. Rows beyond the table follow from its policy, and would not test the
  // scheme.
  absl::Status CheckTable(int64_t token_count) const {
    const int64_t rows = scheme_.table_length();
    if (rows == 0 || rows >= token_count) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the case needs ", token_count,
                     " positions, which is past the table's ", rows, " rows"));
  }

  // Returns INVALID_ARGUMENT if the scheme has biases between token_count
  // tokens that are not zero, but too small to change the outputs measurably.
  absl::Status CheckBias(int64_t token_count) const {
    LOCUS_ASSIGN_OR_RETURN(
        const Probe probe,
        Probe::Make(scheme_, token_count, width_ / head_count_, head_count_));
    if (probe.bias() == nullptr) return absl::OkStatus();
    double largest = 0;
    for (int64_t n = 0; n < token_count; ++n) {
      UpdateMax(MaxAbs(probe.Signature(n)), &largest);
    }
    if (largest == 0 || !(largest < kMinBias)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the biases of ", token_count, " tokens are at most ", largest,
        ", too small beside scores of about 1 to tell distances apart"));
  }

  bool is_causal() const { return causal_; }
  int64_t width() const { return width_; }
  // Describes the layer, such as "width 8, one head, unmasked".
  std::string Describe() const {
    return absl::StrCat(
        "width ", width_, ", ",
        head_count_ == 1 ? "one head" : absl::StrCat(head_count_, " heads"),
        causal_ ? ", causal" : ", unmasked");
  }

  // Embeddings of `count` tokens: [count, width], drawn from N(0, 1).
  RealVector Tokens(int64_t count) const {
    RealVector x(count * width_);
    RandomStream(kPropertySeed, "properties.tokens")
        .FillNormal(1, absl::MakeSpan(x));
    return x;
  }

  // Returns the rows of x in another order: row n of the result is row order[n]
  // of x.
  RealVector Permuted(const RealVector& x, const Ids& order) const {
    RealVector permuted;
    for (const int64_t from : order) {
      permuted.insert(permuted.end(), x.begin() + from * width_,
                      x.begin() + (from + 1) * width_);
    }
    return permuted;
  }

  // Runs the layer on x: [tokens, width], with one position per token.
  absl::StatusOr<AttentionOutputs> Run(const RealVector& x,
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
      // The mask is causal by position, so that it is permuted together with
      // the tokens. A causal scheme requires options.causal as well; the offset
      // keeps that mask, which goes by index, from hiding any key.
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
    ThreadPool pool(1);
    return job.Run(pool, nullptr);
  }

 private:
  Layer(const Scheme& scheme, int64_t width, int64_t head_count, bool causal)
      : scheme_(scheme),
        width_(width),
        head_count_(head_count),
        causal_(causal),
        weights_(4 * width * width) {
    // Weights have variance 1 / width. Uniform numbers are cheaper to draw than
    // normal ones, which matters for wide layers.
    RandomStream stream(kPropertySeed, "properties.weights");
    const double bound = std::sqrt(3 / static_cast<double>(width));
    for (double& weight : weights_) weight = bound * (2 * stream.Uniform() - 1);
  }

  static const char* Bytes(const RealVector& row) {
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
  RealVector weights_;  // wq, wk, wv, wo
};

Ids Range(int64_t start, int64_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), start);
  return ids;
}

std::string FormatIds(const Ids& ids) {
  return absl::StrCat("[", absl::StrJoin(ids, ", "), "]");
}

// Permutation check of a causal scheme. Under a causal mask only the last query
// sees every token, so that only its output shows whether their order matters.
absl::StatusOr<CheckOutcome> LastQueryCase(const Layer& layer) {
  const RealVector x = layer.Tokens(3);
  LOCUS_ASSIGN_OR_RETURN(const auto plain, layer.Run(x, Range(0, 3)));
  LOCUS_ASSIGN_OR_RETURN(const auto swapped,
                         layer.Run(layer.Permuted(x, {1, 0, 2}), Range(0, 3)));
  const auto last = [&](const AttentionOutputs& out) {
    const RealVector values = Values(out.output);
    return RealVector(values.end() - layer.width(), values.end());
  };
  const double difference = MaxAbsDifference(last(plain), last(swapped));
  return Measured(
      difference, kTolerance,
      absl::StrCat("A causal mask alone breaks permutation equivariance, so "
                   "only the last query is examined, which sees all tokens: 3 "
                   "tokens, ",
                   layer.Describe(),
                   "; when the first two tokens are swapped while positions "
                   "stay, its output changes by at most ",
                   difference, "."));
}

absl::StatusOr<CheckOutcome> PermutationCase(const Scheme& scheme, bool joint) {
  LOCUS_ASSIGN_OR_RETURN(const Layer layer, Layer::Make(scheme));
  LOCUS_RETURN_IF_ERROR(layer.CheckTable(3));
  if (!joint) LOCUS_RETURN_IF_ERROR(layer.CheckBias(3));
  if (!joint && layer.is_causal()) return LastQueryCase(layer);
  const Ids order(std::begin(kPermutation), std::end(kPermutation));
  const RealVector x = layer.Tokens(3);
  LOCUS_ASSIGN_OR_RETURN(const auto plain, layer.Run(x, Range(0, 3)));
  LOCUS_ASSIGN_OR_RETURN(
      const auto permuted,
      layer.Run(layer.Permuted(x, order), joint ? order : Range(0, 3)));
  const double difference = MaxAbsDifference(
      Values(permuted.output), layer.Permuted(Values(plain.output), order));
  return Measured(
      difference, kTolerance,
      absl::StrCat("3 tokens, ", layer.Describe(), ", permuted as ",
                   FormatIds(order),
                   joint ? " with their positions" : " while positions stay",
                   layer.is_causal() ? " (and the mask by position)" : "",
                   ": the outputs differ from the permuted outputs by at most ",
                   difference, "."));
}

absl::StatusOr<CheckOutcome> ShiftCase(const Scheme& scheme) {
  constexpr int64_t kTokens = 8;
  constexpr int64_t kShifts[] = {1, 17, 100, 1000};
  LOCUS_ASSIGN_OR_RETURN(const Layer layer, Layer::Make(scheme));
  LOCUS_RETURN_IF_ERROR(layer.CheckTable(kTokens + 1));
  const RealVector x = layer.Tokens(kTokens);
  LOCUS_ASSIGN_OR_RETURN(const auto here, layer.Run(x, Range(0, kTokens)));
  Ids shifts;
  double largest = 0;
  for (const int64_t shift : kShifts) {
    const auto there = layer.Run(x, Range(shift, kTokens));
    // A table may be too short for the larger shifts. The first shift must
    // succeed.
    if (!there.ok() && shifts.empty()) return there.status();
    if (!there.ok()) break;
    UpdateMax(MaxAbsDifference(Values(*there->weights), Values(*here.weights)),
              &largest);
    shifts.push_back(shift);
  }
  return Measured(
      largest, kTolerance,
      absl::StrCat("8 tokens, ", layer.Describe(),
                   ", all positions shifted by ", absl::StrJoin(shifts, ", "),
                   ": attention weights change by at most ", largest, "."));
}

absl::StatusOr<CheckOutcome> BoundedCase(const Scheme& scheme) {
  constexpr int64_t kTokens = 8;
  LOCUS_ASSIGN_OR_RETURN(const Layer layer, Layer::Make(scheme));
  const RealVector x = layer.Tokens(kTokens);
  LOCUS_ASSIGN_OR_RETURN(const auto near, layer.Run(x, Range(0, kTokens)));
  LOCUS_ASSIGN_OR_RETURN(
      const auto far, layer.Run(x, Range(kMaxProbeLength - kTokens, kTokens)));
  const double ratio = MaxAbs(Values(far.output)) / MaxAbs(Values(near.output));
  return Measured(
      ratio, 1.6,
      absl::StrCat("8 tokens, ", layer.Describe(),
                   ", at the first positions and just before position ",
                   kMaxProbeLength, ": the outputs grow by a factor of ", ratio,
                   "."));
}

// Errors become an outcome of kind kNotRun.
CheckOutcome OutcomeOf(const absl::StatusOr<CheckOutcome>& outcome) {
  return outcome.ok() ? *outcome : NotRun(outcome.status().message());
}

}  // namespace

CheckOutcome PermutationEquivariance(const Scheme& scheme) {
  return OutcomeOf(PermutationCase(scheme, /*joint=*/false));
}

CheckOutcome JointEquivariance(const Scheme& scheme) {
  return OutcomeOf(PermutationCase(scheme, /*joint=*/true));
}

CheckOutcome ShiftInvariance(const Scheme& scheme) {
  return OutcomeOf(ShiftCase(scheme));
}

CheckOutcome LayerBoundedness(const Scheme& scheme) {
  return OutcomeOf(BoundedCase(scheme));
}

}  // namespace locus
