// FIRE: functional interpolation for relative positional encoding.
//
//   bias(h, i, j) = f_h(psi(i - j) / (psi(max(i, L)) + 1e-6))
//   psi(x) = ln(|c x| + 1)
//   f(x) = W2 relu(w1 x + b1) + b2, by default with 32 hidden units
//
// Li et al., 2024, "Functional Interpolation for Relative Positions Improves
// Long Context Transformers", equation 3 and appendix C. Distances are
// normalised by the query's position, or by the threshold L if that is larger,
// so that they stay in the trained range past the training length. FIRE is the
// only scheme here whose bias depends on both positions. Weights and biases
// that are not given are drawn with the default initialisation of linear
// layers: uniformly in +-1 / sqrt(number of inputs).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/scheme.h"
#include "core/encoding/schemes/fire_network.h"

namespace locus {
namespace {

constexpr double kEpsilon = 1e-6;
// Max count of numbers drawn from a seed. It bounds the memory of a call whose
// request takes only a few bytes.
constexpr int64_t kMaxDrawn = int64_t{1} << 20;
// Values of psi are cached for positions below this and computed on demand
// beyond it.
constexpr int64_t kMaxCached = int64_t{1} << 18;

class FireBias final : public ScoreBias {
 public:
  // max_position: the largest position of the call.
  FireBias(FireNumbers numbers, int64_t max_position, bool trainable)
      : numbers_(std::move(numbers)),
        trainable_(trainable),
        lines_(numbers_),
        is_bounded_(LargestMagnitude() <= 64),
        threshold_psi_(
            std::log1p(std::abs(numbers_.c()) * numbers_.threshold())) {
    if (trainable || max_position >= kMaxCached) return;
    for (int64_t n = 0; n <= max_position; ++n) {
      psi_.push_back(
          std::log1p(std::abs(numbers_.c()) * static_cast<double>(n)));
    }
  }

  double At(int64_t head, int64_t query_position,
            int64_t key_position) const override {
    const double x = Input(query_position, key_position);
    return trainable_ ? numbers_.Output(head, x) : lines_.At(head, x);
  }
  void Row(int64_t head, int64_t query_position, const Positions& keys,
           int64_t first, int64_t count, double* values) const override {
    if (count == 0) return;
    const auto cached = static_cast<int64_t>(psi_.size());
    if (!keys.is_range() || query_position >= cached ||
        keys[first + count - 1] >= cached) {
      return ScoreBias::Row(head, query_position, keys, first, count, values);
    }
    const int64_t key = keys[first];
    const double scale = Scale(query_position);
    // Distances decrease up to the query's own position and increase after it.
    const int64_t split =
        std::clamp<int64_t>(query_position + 1 - key, 0, count);
    FillDescending(head, query_position - key, split, scale, values);
    FillAscending(head, key + split - query_position, count - split, scale,
                  values + split);
  }
  bool depends_on_offset_alone() const override { return false; }
  bool is_bounded() const override { return is_bounded_; }

  absl::Span<double> parameters() override {
    return trainable_ ? absl::MakeSpan(numbers_.values) : absl::Span<double>();
  }
  void Backward(int64_t head, int64_t query_position, int64_t key_position,
                double d_bias, absl::Span<double> d_values) const override {
    const double x = Input(query_position, key_position);
    double d_x = 0;
    for (int64_t n = 0; n < numbers_.width; ++n) {
      const double hidden = numbers_.Hidden(n, x);
      if (hidden <= 0) continue;
      const double d_hidden = d_bias * numbers_.values[numbers_.W2(head, n)];
      d_values[numbers_.W2(head, n)] += d_bias * hidden;
      d_values[numbers_.W1(n)] += d_hidden * x;
      d_values[numbers_.B1(n)] += d_hidden;
      d_x += d_hidden * numbers_.values[numbers_.W1(n)];
    }
    d_values[numbers_.B2(head)] += d_bias;
    InputBackward(query_position, key_position, d_x, d_values);
  }

 private:
  double Psi(double x) const { return std::log1p(std::abs(numbers_.c()) * x); }
  double PsiOf(int64_t n) const {
    return n < static_cast<int64_t>(psi_.size()) ? psi_[n]
                                                 : Psi(static_cast<double>(n));
  }
  double PsiOfThreshold() const {
    return trainable_ ? Psi(numbers_.threshold()) : threshold_psi_;
  }
  // Normalisation of distances from that query: 1 / (psi(max(i, L)) + 1e-6).
  double Scale(int64_t query_position) const {
    return 1 / (std::max(PsiOf(query_position), PsiOfThreshold()) + kEpsilon);
  }
  double Input(int64_t query_position, int64_t key_position) const {
    return PsiOf(std::abs(query_position - key_position)) *
           Scale(query_position);
  }

  // Computes the biases of `count` keys at descending distances from `distance`
  // on.
  void FillDescending(int64_t head, int64_t distance, int64_t count,
                      double scale, double* values) const {
    while (count > 0) {
      const size_t piece = lines_.PieceOf(psi_[distance] * scale);
      const int64_t last = distance - count + 1;
      const double begin = lines_.Begin(piece);
      const int64_t first = FirstWhere(
          last, distance, [&](int64_t n) { return psi_[n] * scale >= begin; });
      const FireLines::Line line = lines_.Get(head, piece);
      const int64_t size = distance - first + 1;
      const double* const psi = psi_.data() + distance;
      for (int64_t n = 0; n < size; ++n) values[n] = line.At(psi[-n] * scale);
      distance -= size;
      count -= size;
      values += size;
    }
  }
  // Computes the biases of `count` keys at ascending distances from `distance`
  // on.
  void FillAscending(int64_t head, int64_t distance, int64_t count,
                     double scale, double* values) const {
    while (count > 0) {
      const size_t piece = lines_.PieceOf(psi_[distance] * scale);
      const double next = lines_.End(piece);
      const int64_t end =
          FirstWhere(distance, distance + count,
                     [&](int64_t n) { return psi_[n] * scale >= next; });
      const FireLines::Line line = lines_.Get(head, piece);
      const int64_t size = end - distance;
      const double* const psi = psi_.data() + distance;
      for (int64_t n = 0; n < size; ++n) values[n] = line.At(psi[n] * scale);
      distance += size;
      count -= size;
      values += size;
    }
  }
  // Binary search: the first number in [first, last) for which the condition
  // holds, given that it then holds for all larger numbers; `last` if there is
  // none.
  template <typename Condition>
  static int64_t FirstWhere(int64_t first, int64_t last,
                            const Condition& condition) {
    while (first < last) {
      const int64_t middle = first + (last - first) / 2;
      condition(middle) ? last = middle : first = middle + 1;
    }
    return first;
  }

  void InputBackward(int64_t query_position, int64_t key_position, double d_x,
                     absl::Span<double> d_values) const {
    const auto distance =
        static_cast<double>(std::abs(query_position - key_position));
    const double span =
        std::max(static_cast<double>(query_position), numbers_.threshold());
    const double c = std::abs(numbers_.c());
    const double below = Psi(span) + kEpsilon;
    const double d_above = d_x / below;
    const double d_below = -d_x * Psi(distance) / (below * below);
    d_values[0] += std::copysign(1.0, numbers_.c()) *
                   (d_above * distance / (c * distance + 1) +
                    d_below * span / (c * span + 1));
    if (static_cast<double>(query_position) < numbers_.threshold()) {
      d_values[1] +=
          std::copysign(1.0, numbers_.values[1]) * d_below * c / (c * span + 1);
    }
  }

  // Upper bound of the absolute bias. Inputs are in [0, 1] for keys at or
  // before the query and may be larger for keys after it; the bound assumes at
  // most 2.
  double LargestMagnitude() const {
    double largest = 0;
    for (int64_t h = 0; h < numbers_.head_count; ++h) {
      double sum = std::abs(numbers_.values[numbers_.B2(h)]);
      for (int64_t n = 0; n < numbers_.width; ++n) {
        sum += std::abs(numbers_.values[numbers_.W2(h, n)]) *
               (2 * std::abs(numbers_.values[numbers_.W1(n)]) +
                std::abs(numbers_.values[numbers_.B1(n)]));
      }
      largest = std::max(largest, sum);
    }
    return largest;
  }

  FireNumbers numbers_;
  const bool trainable_;
  const FireLines lines_;
  const bool is_bounded_;
  const double threshold_psi_;
  std::vector<double> psi_;  // psi of 0 .. max_position, or empty
};

class Fire final : public SchemeFormula {
 public:
  // `layers` are w1, b1, w2 and b2, or empty if they are drawn from the seed.
  Fire(double c, double threshold, int64_t width, uint64_t seed,
       int64_t head_count, std::vector<double> layers)
      : c_(c),
        threshold_(threshold),
        width_(width),
        seed_(seed),
        head_count_(head_count),
        layers_(std::move(layers)) {}

  int64_t head_count() const override { return head_count_; }
  // A given network may have any property, such as monotonic decay, that the
  // default network does not have.
  bool is_user_specified() const override {
    return head_count_ != 0 || seed_ != 0;
  }
  bool is_pairwise() const override { return true; }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    const int64_t heads = geometry.head_count;
    if (head_count_ != 0 && head_count_ != heads) {
      return InvalidField(
          "w2.shape",
          absl::StrCat("is for ", head_count_, " heads; the call has ", heads));
    }
    if (head_count_ == 0 && FireNumbers::Count(width_, heads) > kMaxDrawn) {
      return LimitExceeded(
          "width", "max_drawn_biases",
          absl::StrCat("is ", width_, " for ", heads, " heads; at most ",
                       kMaxDrawn, " weights are drawn from a seed"));
    }
    FireNumbers numbers{
        .width = width_, .head_count = heads, .values = {c_, threshold_}};
    const std::vector<double> drawn =
        layers_.empty() ? Drawn(heads) : std::vector<double>();
    const std::vector<double>& layers = layers_.empty() ? drawn : layers_;
    numbers.values.insert(numbers.values.end(), layers.begin(), layers.end());
    return std::make_unique<FireBias>(std::move(numbers), geometry.max_position,
                                      geometry.trainable);
  }

 private:
  std::vector<double> Drawn(int64_t heads) const {
    std::vector<double> drawn;
    const auto draw = [&](absl::string_view purpose, int64_t count,
                          double bound) {
      RandomStream stream(seed_, purpose);
      for (int64_t n = 0; n < count; ++n) {
        drawn.push_back(bound * (2 * stream.Uniform() - 1));
      }
    };
    const double bound = 1 / std::sqrt(static_cast<double>(width_));
    draw("fire.w1", width_, 1);
    draw("fire.b1", width_, 1);
    draw("fire.w2", heads * width_, bound);
    draw("fire.b2", heads, bound);
    return drawn;
  }

  const double c_;
  const double threshold_;
  const int64_t width_;
  const uint64_t seed_;
  const int64_t head_count_;  // 0: any
  const std::vector<double> layers_;
};

// The given weights, concatenated, or an empty vector if none are given. Either
// all four tensors must be set or none.
absl::StatusOr<std::vector<double>> Layers(const Arguments& arguments,
                                           int64_t* width,
                                           int64_t* head_count) {
  const bool given = arguments.Has("w1");
  std::vector<double> layers;
  for (const absl::string_view name : {"w1", "b1", "w2", "b2"}) {
    if (arguments.Has(name) != given) {
      return InvalidField(name, absl::StrCat("is ", given ? "not set" : "set",
                                             "; give w1, b1, w2 and b2, or "
                                             "none of them"));
    }
    if (!given) continue;
    const TensorView& tensor = arguments.Tensor(name);
    if (name == "w1") *width = tensor.element_count();
    if (name == "w2") *head_count = tensor.rank() == 2 ? tensor.extent(0) : 0;
    const Shape expected = name == "w2"   ? Shape{*head_count, *width}
                           : name == "b2" ? Shape{*head_count}
                                          : Shape{*width};
    if (tensor.shape != expected || tensor.element_count() < 1) {
      return InvalidField(absl::StrCat(name, ".shape"),
                          absl::StrCat("is ", ToString(tensor.shape),
                                       "; must be ", ToString(expected),
                                       ": w1 [width], b1 [width], w2 [heads, "
                                       "width], b2 [heads]"));
    }
    const size_t start = layers.size();
    layers.resize(start + tensor.element_count());
    ReadRow(tensor.dtype, tensor.data, tensor.element_count(),
            layers.data() + start);
    for (size_t n = start; n < layers.size(); ++n) {
      if (std::isfinite(layers[n])) continue;
      return InvalidField(absl::StrCat(name, ".data"),
                          absl::StrCat("has ", layers[n], " at ", n - start,
                                       "; must be finite"));
    }
  }
  return layers;
}

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  int64_t width = arguments.Integer("width");
  int64_t head_count = 0;
  LOCUS_ASSIGN_OR_RETURN(std::vector<double> layers,
                         Layers(arguments, &width, &head_count));
  return std::make_unique<Fire>(
      arguments.Number("c"), arguments.Number("threshold"), width,
      arguments.Seed("seed"), head_count, std::move(layers));
}

// A threshold beyond the training length would have no effect in training.
void ApplyTrainingDefaults(const TrainingSetting& setting,
                           Arguments* arguments) {
  if (arguments->Has("threshold")) return;
  arguments->Set("threshold",
                 std::min(512.0, static_cast<double>(setting.train_length)));
}

Parameter Layer(absl::string_view name, absl::string_view description) {
  return {.kind = ParameterKind::kTensor,
          .name = std::string(name),
          .description = description};
}

}  // namespace

SchemeInfo DescribeFire() {
  return {
      .name = "fire",
      .title = "Functional interpolation for relative positions (FIRE)",
      .site = Site::kScores,
      .parameters = {{.kind = ParameterKind::kNumber,
                      .name = "c",
                      .description = "scale of distances inside the logarithm",
                      .default_number = 0.1,
                      .min = 1e-6,
                      .max = 1e6},
                     {.kind = ParameterKind::kNumber,
                      .name = "threshold",
                      .description =
                          "L: distances are normalised by the query's position "
                          "if it is at least this",
                      .default_number = 512,
                      .min = 1e-3,
                      .max = 1e15},
                     {.kind = ParameterKind::kInteger,
                      .name = "width",
                      .description =
                          "number of hidden units of a seeded network",
                      .default_number = 32,
                      .min = 1,
                      .max = 4096},
                     Layer("w1",
                           "[width], with b1, w2 and b2; instead of seed"),
                     Layer("b1", "[width]"),
                     Layer("w2", "[heads, width]"),
                     Layer("b2", "[heads]"),
                     {.kind = ParameterKind::kSeed,
                      .name = "seed",
                      .description = "seed of the network"}},
      .promises = {kNo, kYes, kNo, kNotApplicable, kNotApplicable,
                   kNotApplicable, kYes, kYes, kNo, kYes, kYes, kYes, kYes},
      .reference = "Li et al., 2024, arXiv:2310.04418",
      .beyond_training =
          "Distances are interpolated into the range that was "
          "trained.",
      .in_default_evaluation = false,
      .make = Make,
      .apply_training_defaults = ApplyTrainingDefaults,
  };
}

}  // namespace locus
