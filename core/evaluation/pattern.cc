#include "core/evaluation/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/base/stopper.h"

namespace locus {
namespace {

using Matrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Queries are taken in so many parts of about equal size, whatever the number
// of threads, and their sums are added up in order.
constexpr int64_t kParts = 32;
constexpr int64_t kRowsPerStopCheck = 8;
constexpr int64_t kMaxSampled = 256;
constexpr double kPi = 3.14159265358979323846;
// Scores stay where exponentials and sums are finite.
constexpr double kLargestScore = 1e290;

// Where part n begins when `count` things are divided into `parts`.
int64_t PartStart(int64_t n, int64_t count, int64_t parts) {
  return n * count / parts;
}

int64_t HeadDim(const PatternSettings& settings) {
  return settings.dim / settings.head_count;
}

absl::StatusOr<CompiledScheme> CompileFor(const PatternCall& call) {
  const Scheme& scheme = *call.scheme.scheme;
  const bool on_embeddings = scheme.site() == Site::kEmbeddings;
  LOCUS_ASSIGN_OR_RETURN(
      CompiledScheme compiled,
      scheme.Compile(
          {.dim = on_embeddings ? call.settings.dim : HeadDim(call.settings),
           .head_count = call.settings.head_count,
           .max_position = call.eval_length - 1}));
  const auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(&compiled);
  if (bias != nullptr && (*bias)->is_causal() && !call.settings.causal) {
    return InvalidField(
        absl::StrCat("scheme.", scheme.name()),
        "has a meaning in causal attention alone, and pattern.causal is false");
  }
  return compiled;
}

const AdditiveCode* CodeOf(const CompiledScheme& compiled) {
  const auto* code = std::get_if<std::unique_ptr<AdditiveCode>>(&compiled);
  return code == nullptr ? nullptr : code->get();
}

const ScoreBias* BiasOf(const CompiledScheme& compiled) {
  const auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(&compiled);
  return bias == nullptr ? nullptr : bias->get();
}

Matrix Weight(const PatternCall& call, absl::string_view name) {
  Matrix weight(call.settings.dim, call.settings.dim);
  RandomStream(call.seed, absl::StrCat("pattern.", name))
      .FillNormal(1 / std::sqrt(static_cast<double>(call.settings.dim)),
                  absl::MakeSpan(weight.data(), weight.size()));
  return weight;
}

enum class Content { kDrawn, kShared };

// Token n before positions, [dim].
void Token(const PatternCall& call, Content content,
           const std::vector<double>& common, int64_t n,
           absl::Span<double> row) {
  RandomStream(call.seed, absl::StrCat("pattern.token/", n)).FillNormal(1, row);
  if (content == Content::kDrawn) return;
  for (size_t c = 0; c < row.size(); ++c) {
    row[c] = (row[c] + common[c]) / std::sqrt(2.0);
  }
}

// Queries [T, dim] and keys [dim, T], heads side by side.
struct Projections {
  Matrix q;
  Matrix k;
};

// With the scheme in its place, or without any.
Projections Project(const PatternCall& call, Content content,
                    const CompiledScheme* compiled, ThreadPool& pool,
                    Stopper& stopper) {
  const int64_t dim = call.settings.dim;
  const int64_t head_dim = HeadDim(call.settings);
  const int64_t length = call.eval_length;
  const Matrix wq = Weight(call, "wq");
  const Matrix wk = content == Content::kShared ? wq : Weight(call, "wk");
  std::vector<double> common(dim);
  RandomStream(call.seed, "pattern.common")
      .FillNormal(1, absl::MakeSpan(common));
  const AdditiveCode* const code =
      compiled == nullptr ? nullptr : CodeOf(*compiled);
  const Rotation* const rotation =
      compiled == nullptr ? nullptr : std::get_if<Rotation>(compiled);
  Projections out{Matrix(length, dim), Matrix(dim, length)};
  pool.ParallelFor(kParts, [&](int64_t part) {
    std::vector<double> x(dim);
    std::vector<double> added(dim);
    const int64_t pairs = rotation == nullptr ? 0 : rotation->pair_count();
    std::vector<double> cos(pairs);
    std::vector<double> sin(pairs);
    for (int64_t n = PartStart(part, length, kParts);
         n < PartStart(part + 1, length, kParts); ++n) {
      if (n % kRowsPerStopCheck == 0 && stopper.ShouldStop()) return;
      Token(call, content, common, n, absl::MakeSpan(x));
      if (code != nullptr) {
        code->Row(n, absl::MakeSpan(added));
        for (int64_t c = 0; c < dim; ++c) x[c] += added[c];
      }
      const Eigen::Map<const Eigen::RowVectorXd> row(x.data(), dim);
      Eigen::RowVectorXd q = row * wq;
      Eigen::RowVectorXd k = row * wk;
      if (rotation != nullptr) rotation->Angles(n, cos.data(), sin.data());
      for (int64_t c = 0; rotation != nullptr && c < dim; c += head_dim) {
        rotation->Apply(cos.data(), sin.data(), &q(c));
        rotation->Apply(cos.data(), sin.data(), &k(c));
      }
      out.q.row(n) = q;
      out.k.col(n) = k.transpose();
    }
  });
  return out;
}

// The biases of one head, looked up where they depend on the offset alone.
class HeadBias {
 public:
  HeadBias(const ScoreBias* bias, int64_t head, int64_t length, bool causal)
      : bias_(bias), head_(head), length_(length) {
    if (bias == nullptr || !bias->depends_on_offset_alone()) return;
    by_offset_.resize(2 * length - 1);
    for (int64_t n = causal ? 0 : 1 - length; n < length; ++n) {
      by_offset_[n + length - 1] =
          bias->At(head, std::max<int64_t>(n, 0), std::max<int64_t>(-n, 0));
    }
  }
  double At(int64_t query, int64_t key) const {
    if (bias_ == nullptr) return 0;
    if (by_offset_.empty()) return bias_->At(head_, query, key);
    return by_offset_[query - key + length_ - 1];
  }

 private:
  const ScoreBias* const bias_;
  const int64_t head_;
  const int64_t length_;
  std::vector<double> by_offset_;
};

// A query and what it sees.
struct QueryRow {
  int64_t query;
  int64_t visible;
  double log_sum_exp;
};

// What one head attends to, query by query.
class HeadRows {
 public:
  HeadRows(const PatternCall& call, const Projections& projections,
           const ScoreBias* bias, int64_t head)
      : length_(call.eval_length),
        causal_(call.settings.causal),
        head_dim_(HeadDim(call.settings)),
        first_channel_(head * head_dim_),
        projections_(projections),
        bias_(bias, head, call.eval_length, call.settings.causal) {}

  // Fills scores and weights of the keys that a query sees, the first ones.
  QueryRow Attend(int64_t query, std::vector<double>& scores,
                  std::vector<double>& weights) const {
    const int64_t visible = causal_ ? query + 1 : length_;
    const double scale = 1 / std::sqrt(static_cast<double>(head_dim_));
    std::fill_n(scores.begin(), visible, 0.0);
    for (int64_t c = first_channel_; c < first_channel_ + head_dim_; ++c) {
      const double q = projections_.q(query, c) * scale;
      const double* const k = &projections_.k(c, 0);
      for (int64_t j = 0; j < visible; ++j) scores[j] += q * k[j];
    }
    double largest = -kLargestScore;
    for (int64_t j = 0; j < visible; ++j) {
      scores[j] = std::clamp(scores[j] + bias_.At(query, j), -kLargestScore,
                             kLargestScore);
      largest = std::max(largest, scores[j]);
    }
    double sum = 0;
    for (int64_t j = 0; j < visible; ++j) {
      weights[j] = std::exp(scores[j] - largest);
      sum += weights[j];
    }
    for (int64_t j = 0; j < visible; ++j) weights[j] /= sum;
    return {query, visible, largest + std::log(sum)};
  }

 private:
  const int64_t length_;
  const bool causal_;
  const int64_t head_dim_;
  const int64_t first_channel_;
  const Projections& projections_;
  const HeadBias bias_;
};

// Sums over the queries of one part of one head.
struct PatternSums {
  double entropy = 0;
  double entropy_queries = 0;
  double window_mass = 0;
  double distance = 0;
  double queries = 0;
  double near_scores = 0;
  double near_pairs = 0;
  double far_scores = 0;
  double far_pairs = 0;

  void Add(const PatternSums& other) {
    entropy += other.entropy;
    entropy_queries += other.entropy_queries;
    window_mass += other.window_mass;
    distance += other.distance;
    queries += other.queries;
    near_scores += other.near_scores;
    near_pairs += other.near_pairs;
    far_scores += other.far_scores;
    far_pairs += other.far_pairs;
  }

  void AddQuery(const QueryRow& row, int64_t train_length,
                const std::vector<double>& scores,
                const std::vector<double>& weights) {
    const int64_t window = std::max<int64_t>(train_length / 2, 1);
    double nats = 0;
    for (int64_t j = 0; j < row.visible; ++j) {
      const int64_t apart = std::abs(row.query - j);
      // -ln(weight), but finite.
      nats += weights[j] * (row.log_sum_exp - scores[j]);
      if (apart < window) window_mass += weights[j];
      distance += weights[j] * static_cast<double>(apart);
      const bool near = apart < train_length;
      (near ? near_scores : far_scores) += scores[j];
      (near ? near_pairs : far_pairs) += 1;
    }
    queries += 1;
    if (row.visible < 2) return;
    entropy += std::max(nats, 0.0) / std::log(static_cast<double>(row.visible));
    entropy_queries += 1;
  }

  double ScoreDrift() const {
    if (far_pairs == 0) return 0;
    return std::abs(far_scores / far_pairs - near_scores / near_pairs);
  }
};

// The map of one head: weights averaged over blocks of keys, query by query,
// then over blocks of queries.
class MapBuilder {
 public:
  MapBuilder(int64_t length, int64_t map_size)
      : length_(length),
        size_(std::min(length, map_size)),
        rows_(length * size_) {}

  int64_t size() const { return size_; }

  void SetQuery(const QueryRow& row, const std::vector<double>& weights) {
    for (int64_t column = 0; column < size_; ++column) {
      const int64_t first = PartStart(column, length_, size_);
      const int64_t last = PartStart(column + 1, length_, size_);
      double sum = 0;
      for (int64_t j = first; j < std::min(last, row.visible); ++j) {
        sum += weights[j];
      }
      rows_[row.query * size_ + column] =
          static_cast<float>(sum / static_cast<double>(last - first));
    }
  }

  // target: [size, size]
  void Write(float* target) const {
    for (int64_t row = 0; row < size_; ++row) {
      const int64_t first = PartStart(row, length_, size_);
      const int64_t last = PartStart(row + 1, length_, size_);
      for (int64_t column = 0; column < size_; ++column) {
        double sum = 0;
        for (int64_t i = first; i < last; ++i) sum += rows_[i * size_ + column];
        target[row * size_ + column] =
            static_cast<float>(sum / static_cast<double>(last - first));
      }
    }
  }

 private:
  const int64_t length_;
  const int64_t size_;
  std::vector<float> rows_;  // [length, size]
};

// One head over all its queries; the map is filled if there is one.
PatternSums SumHead(const PatternCall& call, const HeadRows& rows,
                    MapBuilder* map, ThreadPool& pool, Stopper& stopper) {
  const int64_t length = call.eval_length;
  std::vector<PatternSums> parts(kParts);
  pool.ParallelFor(kParts, [&](int64_t part) {
    std::vector<double> scores(length);
    std::vector<double> weights(length);
    for (int64_t i = PartStart(part, length, kParts);
         i < PartStart(part + 1, length, kParts); ++i) {
      if (i % kRowsPerStopCheck == 0 && stopper.ShouldStop()) return;
      const QueryRow row = rows.Attend(i, scores, weights);
      parts[part].AddQuery(row, call.train_length, scores, weights);
      if (map != nullptr) map->SetQuery(row, weights);
    }
  });
  PatternSums sums;
  for (const PatternSums& part : parts) sums.Add(part);
  return sums;
}

// Half the sum of what the weights of some queries differ by.
double HeadDifference(const PatternCall& call, const HeadRows& a,
                      const HeadRows& b, ThreadPool& pool, Stopper& stopper) {
  const int64_t length = call.eval_length;
  const int64_t count = std::min(length, kMaxSampled);
  std::vector<double> differences(count);
  pool.ParallelFor(kParts, [&](int64_t part) {
    std::vector<double> scores(length);
    std::vector<double> weights_a(length);
    std::vector<double> weights_b(length);
    for (int64_t n = PartStart(part, count, kParts);
         n < PartStart(part + 1, count, kParts); ++n) {
      if (n % kRowsPerStopCheck == 0 && stopper.ShouldStop()) return;
      const int64_t query = PartStart(n + 1, length, count) - 1;
      const int64_t visible = a.Attend(query, scores, weights_a).visible;
      b.Attend(query, scores, weights_b);
      for (int64_t j = 0; j < visible; ++j) {
        differences[n] += std::abs(weights_a[j] - weights_b[j]) / 2;
      }
    }
  });
  double sum = 0;
  for (const double difference : differences) sum += difference;
  return sum / static_cast<double>(count);
}

// Measures one cell.
class Measurement {
 public:
  Measurement(const PatternCall& call, const CompiledScheme& compiled,
              ThreadPool& pool, const StopCheck& stop)
      : call_(call), compiled_(compiled), pool_(pool), stopper_(stop) {}

  absl::StatusOr<EvaluationCell> Run() {
    cell_.scheme_name = call_.scheme.name;
    cell_.seed = call_.seed;
    cell_.eval_length = call_.eval_length;
    MeasureContent(Content::kDrawn, "");
    MeasureContent(Content::kShared, "_shared");
    MeasureCode();
    MeasureRotation();
    MeasureBias();
    LOCUS_RETURN_IF_ERROR(stopper_.status());
    return std::move(cell_);
  }

 private:
  void Set(absl::string_view name, double value) {
    if (std::isfinite(value)) cell_.metrics[std::string(name)] = value;
  }

  int64_t head_count() const { return call_.settings.head_count; }

  void MeasureContent(Content content, absl::string_view suffix) {
    const Projections projections =
        Project(call_, content, &compiled_, pool_, stopper_);
    const bool with_map =
        content == Content::kDrawn && call_.settings.map_size > 0;
    double entropy = 0;
    double window_mass = 0;
    double distance = 0;
    double drift = 0;
    for (int64_t h = 0; h < head_count() && !stopper_.ShouldStop(); ++h) {
      const HeadRows rows(call_, projections, BiasOf(compiled_), h);
      std::optional<MapBuilder> map;
      if (with_map) map.emplace(call_.eval_length, call_.settings.map_size);
      const PatternSums sums =
          SumHead(call_, rows, map ? &*map : nullptr, pool_, stopper_);
      if (sums.entropy_queries > 0) {
        entropy += sums.entropy / sums.entropy_queries;
      }
      window_mass += sums.window_mass / sums.queries;
      distance += sums.distance / sums.queries;
      drift += sums.ScoreDrift();
      if (map) WriteMap(h, *map);
    }
    const double heads = static_cast<double>(head_count());
    Set(absl::StrCat("entropy", suffix), entropy / heads);
    Set(absl::StrCat("window_mass", suffix), window_mass / heads);
    Set(absl::StrCat("mean_distance", suffix), distance / heads);
    Set(absl::StrCat("score_drift", suffix), drift / heads);
    if (content == Content::kShared) MeasureEffect(projections);
  }

  void WriteMap(int64_t head, const MapBuilder& map) {
    const int64_t size = map.size();
    if (!cell_.attention_map) {
      cell_.attention_map.emplace(DType::kFloat32,
                                  Shape{head_count(), size, size});
    }
    std::vector<float> values(size * size);
    map.Write(values.data());
    WriteRow(DType::kFloat32, values.data(), size * size,
             cell_.attention_map->at(head * size * size));
  }

  void MeasureEffect(const Projections& projections) {
    const Projections bare =
        Project(call_, Content::kShared, nullptr, pool_, stopper_);
    double effect = 0;
    for (int64_t h = 0; h < head_count() && !stopper_.ShouldStop(); ++h) {
      effect += HeadDifference(
          call_, HeadRows(call_, projections, BiasOf(compiled_), h),
          HeadRows(call_, bare, nullptr, h), pool_, stopper_);
    }
    Set("position_effect", effect / static_cast<double>(head_count()));
  }

  Eigen::VectorXd Code(int64_t position) const {
    Eigen::VectorXd row(call_.settings.dim);
    CodeOf(compiled_)->Row(position, absl::MakeSpan(row.data(), row.size()));
    return row;
  }

  void MeasureCode() {
    if (CodeOf(compiled_) == nullptr) return;
    const int64_t half = call_.eval_length / 2;
    const int64_t pairs = call_.eval_length - half;
    const int64_t count = std::min(pairs, kMaxSampled);
    double cosines = 0;
    for (int64_t n = 0; n < count; ++n) {
      const int64_t p = PartStart(n, pairs, count);
      const Eigen::VectorXd a = Code(p);
      const Eigen::VectorXd b = Code(p + half);
      const double norms = a.norm() * b.norm();
      if (norms > 0) cosines += a.dot(b) / norms;
    }
    Set("similarity_decay", 1 - cosines / static_cast<double>(count));
    MeasureNovelty();
  }

  void MeasureNovelty() {
    if (call_.eval_length < 2) return;
    const double step = (Code(1) - Code(0)).norm();
    const Eigen::VectorXd last = Code(call_.eval_length - 1);
    double nearest = (last - Code(0)).norm();
    const int64_t known = std::min(call_.train_length, call_.eval_length);
    for (int64_t p = 1; p < known && !stopper_.ShouldStop(); ++p) {
      nearest = std::min(nearest, (last - Code(p)).norm());
    }
    Set("novelty", nearest / step);
  }

  void MeasureRotation() {
    const auto* rotation = std::get_if<Rotation>(&compiled_);
    if (rotation == nullptr) return;
    double slow = 0;
    for (const double frequency : rotation->frequencies) {
      if (std::abs(frequency) * static_cast<double>(call_.train_length) <
          2 * kPi) {
        slow += 1;
      }
    }
    Set("slow_pair_share", slow / static_cast<double>(rotation->pair_count()));
  }

  void MeasureBias() {
    if (BiasOf(compiled_) == nullptr) return;
    // Pairs (i, j), j <= i, below a distance: all of a triangle without its far
    // corner. Unmasked, the other side mirrors it.
    const double length = static_cast<double>(call_.eval_length);
    const double far = std::max<double>(
        0, static_cast<double>(call_.eval_length - call_.train_length));
    const double outside = far * (far + 1) / 2;
    Set("bias_outside_share", call_.settings.causal
                                  ? outside / (length * (length + 1) / 2)
                                  : 2 * outside / (length * length));
  }

  const PatternCall& call_;
  const CompiledScheme& compiled_;
  ThreadPool& pool_;
  Stopper stopper_;
  EvaluationCell cell_;
};

}  // namespace

int64_t PatternScratchBytes(const PatternSettings& settings,
                            int64_t eval_length) {
  constexpr int64_t kNumber = sizeof(double);
  const int64_t map_size = std::min(settings.map_size, eval_length);
  // Weights; queries and keys with and without positions; the rows of all
  // parts; biases of two heads; the map.
  return kNumber * (2 * settings.dim * settings.dim +
                    eval_length * (4 * settings.dim + 3 * kParts + 4)) +
         map_size * 4 * (eval_length + (settings.head_count + 1) * map_size);
}

double PatternFlops(const PatternSettings& settings, int64_t eval_length) {
  // An exponential, a logarithm and what is summed up, for each score.
  constexpr double kPerScore = 60;
  // A normal number from a stream.
  constexpr double kPerDraw = 30;
  const double length = static_cast<double>(eval_length);
  const double dim = static_cast<double>(settings.dim);
  const double heads = static_cast<double>(settings.head_count);
  const double pairs =
      settings.causal ? length * (length + 1) / 2 : length * length;
  const double sampled =
      std::min(length, static_cast<double>(kMaxSampled)) * length;
  return (2 * pairs + 2 * sampled) * (2 * dim + kPerScore * heads) +
         3 * length * dim * (4 * dim + kPerDraw) + 6 * dim * dim * kPerDraw;
}

absl::Status CheckPattern(const PatternCall& call) {
  const PatternSettings& settings = call.settings;
  if (settings.head_count < 1 || settings.dim % settings.head_count != 0) {
    return InvalidField(
        "pattern.head_count",
        absl::StrCat("is ", settings.head_count,
                     "; must be positive and divide dim = ", settings.dim));
  }
  return CompileFor(call).status();
}

absl::StatusOr<EvaluationCell> MeasurePattern(const PatternCall& call,
                                              ThreadPool& pool,
                                              const StopCheck& stop) {
  LOCUS_RETURN_IF_ERROR(CheckPattern(call));
  LOCUS_ASSIGN_OR_RETURN(const CompiledScheme compiled, CompileFor(call));
  return Measurement(call, compiled, pool, stop).Run();
}

}  // namespace locus
