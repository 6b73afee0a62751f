// FIRE: functional interpolation for relative positional encoding.
//
//   bias(h, i, j) = f_h(psi(i - j) / (psi(max(i, L)) + 1e-6))
//   psi(x) = ln(|c x| + 1)
//   f(x) = W2 relu(w1 x + b1) + b2, with 32 hidden units
//
// Li et al., 2024, "Functional Interpolation for Relative Positions Improves
// Long Context Transformers", equation 3 and appendix C. Distances are divided
// by the query's own position, so that they never leave the range that was
// trained; up to the threshold L they are not. The bias depends on both
// positions, and is the only one here that does. Unless they are given, weights
// and biases are drawn as linear layers usually are, uniformly within one over
// the root of their inputs.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/scheme.h"

namespace locus {
namespace {

constexpr double kEpsilon = 1e-6;
// What a few bytes of request may make us draw.
constexpr int64_t kMaxDrawn = int64_t{1} << 20;
// Logarithms are kept for positions below this; those beyond are computed when
// asked for.
constexpr int64_t kMaxKept = int64_t{1} << 18;

// All numbers of the scheme, in the order in which they are trained.
struct FireNumbers {
  int64_t width = 0;
  int64_t head_count = 0;
  std::vector<double> values;  // c, L, w1, b1, w2 [heads, width], b2

  static int64_t Count(int64_t width, int64_t head_count) {
    return 2 + 2 * width + head_count * (width + 1);
  }

  double c() const { return values[0]; }
  double threshold() const { return std::abs(values[1]); }
  int64_t W1(int64_t n) const { return 2 + n; }
  int64_t B1(int64_t n) const { return 2 + width + n; }
  int64_t W2(int64_t h, int64_t n) const {
    return 2 + 2 * width + h * width + n;
  }
  int64_t B2(int64_t h) const { return 2 + 2 * width + head_count * width + h; }

  double Hidden(int64_t n, double x) const {
    return values[W1(n)] * x + values[B1(n)];
  }
  double Output(int64_t h, double x) const {
    double sum = values[B2(h)];
    for (int64_t n = 0; n < width; ++n) {
      sum += values[W2(h, n)] * std::max(Hidden(n, x), 0.0);
    }
    return sum;
  }
};

// The network of one input is a line between any two places where a hidden unit
// starts or ends: these lines, rather than all units, for each number asked
// for.
class Lines {
 public:
  explicit Lines(const FireNumbers& numbers) {
    for (int64_t n = 0; n < numbers.width; ++n) {
      const double end =
          -numbers.values[numbers.B1(n)] / numbers.values[numbers.W1(n)];
      if (std::isfinite(end)) ends_.push_back(end);
    }
    std::sort(ends_.begin(), ends_.end());
    for (int64_t h = 0; h < numbers.head_count; ++h) {
      for (size_t piece = 0; piece <= ends_.size(); ++piece) {
        lines_.push_back(LineAt(numbers, h, Inside(piece)));
      }
    }
  }

  struct Line {
    double start = 0;
    double slope = 0;
    double At(double x) const { return start + slope * x; }
  };

  // Between which ends a number lies.
  size_t PieceOf(double x) const {
    return std::upper_bound(ends_.begin(), ends_.end(), x) - ends_.begin();
  }
  // Where a piece begins, and where the next one does.
  double Begin(size_t piece) const {
    return piece == 0 ? -std::numeric_limits<double>::infinity()
                      : ends_[piece - 1];
  }
  double End(size_t piece) const {
    return piece == ends_.size() ? std::numeric_limits<double>::infinity()
                                 : ends_[piece];
  }
  const Line& Get(int64_t head, size_t piece) const {
    return lines_[head * (ends_.size() + 1) + piece];
  }
  double At(int64_t head, double x) const {
    return Get(head, PieceOf(x)).At(x);
  }

 private:
  // Some place within a piece.
  double Inside(size_t piece) const {
    if (ends_.empty()) return 0;
    // An end may be so far out that the next number is more than 1 away.
    if (piece == 0) {
      return ends_.front() - std::max(1.0, std::abs(ends_.front()));
    }
    if (piece == ends_.size()) {
      return ends_.back() + std::max(1.0, std::abs(ends_.back()));
    }
    return ends_[piece - 1] + (ends_[piece] - ends_[piece - 1]) / 2;
  }

  static Line LineAt(const FireNumbers& numbers, int64_t h, double x) {
    Line line{.start = numbers.values[numbers.B2(h)]};
    for (int64_t n = 0; n < numbers.width; ++n) {
      if (numbers.Hidden(n, x) <= 0) continue;
      const double weight = numbers.values[numbers.W2(h, n)];
      line.start += weight * numbers.values[numbers.B1(n)];
      line.slope += weight * numbers.values[numbers.W1(n)];
    }
    return line;
  }

  std::vector<double> ends_;
  std::vector<Line> lines_;  // [heads, ends + 1]
};

class FireBias final : public ScoreBias {
 public:
  // max_position: of the call.
  FireBias(FireNumbers numbers, int64_t max_position, bool trainable)
      : numbers_(std::move(numbers)),
        trainable_(trainable),
        lines_(numbers_),
        is_small_(LargestMagnitude() <= 64),
        threshold_psi_(
            std::log1p(std::abs(numbers_.c()) * numbers_.threshold())) {
    if (trainable || max_position >= kMaxKept) return;
    for (int64_t n = 0; n <= max_position; ++n) {
      kept_.push_back(
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
    const auto kept = static_cast<int64_t>(kept_.size());
    if (!keys.is_range() || query_position >= kept ||
        keys[first + count - 1] >= kept) {
      return ScoreBias::Row(head, query_position, keys, first, count, values);
    }
    const int64_t key = keys[first];
    const double scale = Scale(query_position);
    // Keys up to the query come nearer, those after it go away again.
    const int64_t up_to =
        std::clamp<int64_t>(query_position + 1 - key, 0, count);
    FillNearing(head, query_position - key, up_to, scale, values);
    FillLeaving(head, key + up_to - query_position, count - up_to, scale,
                values + up_to);
  }
  bool depends_on_offset_alone() const override { return false; }
  bool is_small() const override { return is_small_; }

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
    return n < static_cast<int64_t>(kept_.size()) ? kept_[n]
                                                  : Psi(static_cast<double>(n));
  }
  double PsiOfThreshold() const {
    return trainable_ ? Psi(numbers_.threshold()) : threshold_psi_;
  }
  // What psi of distances from that query is multiplied by.
  double Scale(int64_t query_position) const {
    return 1 / (std::max(PsiOf(query_position), PsiOfThreshold()) + kEpsilon);
  }
  double Input(int64_t query_position, int64_t key_position) const {
    return PsiOf(std::abs(query_position - key_position)) *
           Scale(query_position);
  }

  // The biases of keys at `distance` and the count - 1 below it.
  void FillNearing(int64_t head, int64_t distance, int64_t count, double scale,
                   double* values) const {
    while (count > 0) {
      const size_t piece = lines_.PieceOf(kept_[distance] * scale);
      const int64_t last = distance - count + 1;
      const double begin = lines_.Begin(piece);
      const int64_t first = FirstWhere(
          last, distance, [&](int64_t n) { return kept_[n] * scale >= begin; });
      const Lines::Line line = lines_.Get(head, piece);
      const int64_t size = distance - first + 1;
      const double* const psi = kept_.data() + distance;
      for (int64_t n = 0; n < size; ++n) values[n] = line.At(psi[-n] * scale);
      distance -= size;
      count -= size;
      values += size;
    }
  }
  // The same for those above it.
  void FillLeaving(int64_t head, int64_t distance, int64_t count, double scale,
                   double* values) const {
    while (count > 0) {
      const size_t piece = lines_.PieceOf(kept_[distance] * scale);
      const double next = lines_.End(piece);
      const int64_t end =
          FirstWhere(distance, distance + count,
                     [&](int64_t n) { return kept_[n] * scale >= next; });
      const Lines::Line line = lines_.Get(head, piece);
      const int64_t size = end - distance;
      const double* const psi = kept_.data() + distance;
      for (int64_t n = 0; n < size; ++n) values[n] = line.At(psi[n] * scale);
      distance += size;
      count -= size;
      values += size;
    }
  }
  // The first number from `first` on, and before `last`, of which something is
  // true that stays true; `last` if there is none.
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

  // Inputs of queries and the keys before them are between 0 and 1, but keys
  // that follow may lie beyond: twice as far is far enough for a bound.
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
  const Lines lines_;
  const bool is_small_;
  const double threshold_psi_;
  std::vector<double> kept_;  // psi of positions and distances
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
  // A network may do anything, falling included; the default one does not.
  bool is_given() const override { return head_count_ != 0 || seed_ != 0; }
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
                          double reach) {
      RandomStream stream(seed_, purpose);
      for (int64_t n = 0; n < count; ++n) {
        drawn.push_back(reach * (2 * stream.Uniform() - 1));
      }
    };
    const double reach = 1 / std::sqrt(static_cast<double>(width_));
    draw("fire.w1", width_, 1);
    draw("fire.b1", width_, 1);
    draw("fire.w2", heads * width_, reach);
    draw("fire.b2", heads, reach);
    return drawn;
  }

  const double c_;
  const double threshold_;
  const int64_t width_;
  const uint64_t seed_;
  const int64_t head_count_;  // 0: any
  const std::vector<double> layers_;
};

// The weights that were given, one after the other. Either all four are or
// none.
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

// A threshold beyond the training length would never be passed.
void Suit(const TrainingSetting& setting, Arguments* arguments) {
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
                      .description = "how soon distances count logarithmically",
                      .default_number = 0.1,
                      .min = 1e-6,
                      .max = 1e6},
                     {.kind = ParameterKind::kNumber,
                      .name = "threshold",
                      .description =
                          "L: distances are taken relative to the query's "
                          "position from here on",
                      .default_number = 512,
                      .min = 1e-3,
                      .max = 1e15},
                     {.kind = ParameterKind::kInteger,
                      .name = "width",
                      .description = "the hidden units of a drawn network",
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
                      .description = "draws the network"}},
      .promises = {kNo, kYes, kNo, kNotApplicable, kNotApplicable,
                   kNotApplicable, kYes, kYes, kNo},
      .reference = "Li et al., 2024, arXiv:2310.04418",
      .beyond_training =
          "Distances are interpolated into the range that was "
          "trained.",
      .is_raced = false,
      .make = Make,
      .suit = Suit,
  };
}

}  // namespace locus
