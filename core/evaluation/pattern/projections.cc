#include "core/evaluation/pattern/projections.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/random.h"
#include "core/encoding/compiled.h"
#include "core/evaluation/pattern/parts.h"

namespace locus {
namespace {

using Matrix = Projections::Matrix;

// Draws a projection matrix: [dim, dim], with variance 1 / dim.
Matrix DrawWeight(const PatternCase& pattern_case, absl::string_view name) {
  Matrix weight(pattern_case.settings.dim, pattern_case.settings.dim);
  RandomStream(pattern_case.seed, absl::StrCat("pattern.", name))
      .FillNormal(1 / std::sqrt(static_cast<double>(pattern_case.settings.dim)),
                  absl::MakeSpan(weight.data(), weight.size()));
  return weight;
}

// Common component of all tokens with shared content: [dim].
std::vector<double> DrawSharedMean(const PatternCase& pattern_case) {
  std::vector<double> shared_mean(pattern_case.settings.dim);
  RandomStream(pattern_case.seed, "pattern.common")
      .FillNormal(1, absl::MakeSpan(shared_mean));
  return shared_mean;
}

// Draws token n, without its position: [dim].
void DrawToken(const PatternCase& pattern_case, PatternContent content,
               const std::vector<double>& shared_mean, int64_t n,
               absl::Span<double> row) {
  RandomStream(pattern_case.seed, absl::StrCat("pattern.token/", n))
      .FillNormal(1, row);
  if (content == PatternContent::kDrawn) return;
  for (size_t c = 0; c < row.size(); ++c) {
    row[c] = (row[c] + shared_mean[c]) / std::sqrt(2.0);
  }
}

// Rotates all heads of a row for one position.
class HeadRotator {
 public:
  // A null rotation leaves rows unchanged.
  HeadRotator(const Rotation* rotation, int64_t head_dim)
      : rotation_(rotation),
        head_dim_(head_dim),
        cos_(rotation == nullptr ? 0 : rotation->pair_count()),
        sin_(cos_.size()) {}

  void SetPosition(int64_t n) {
    if (rotation_ != nullptr) rotation_->Angles(n, cos_.data(), sin_.data());
  }
  void Apply(Eigen::RowVectorXd& row) const {
    if (rotation_ == nullptr) return;
    for (int64_t c = 0; c < row.size(); c += head_dim_) {
      rotation_->Apply(cos_.data(), sin_.data(), &row(c));
    }
  }

 private:
  const Rotation* const rotation_;
  const int64_t head_dim_;
  std::vector<double> cos_;
  std::vector<double> sin_;
};

}  // namespace

Projections Project(const PatternCase& pattern_case, PatternContent content,
                    const CompiledScheme* compiled, ThreadPool& pool,
                    CancellationState& cancellation) {
  const int64_t dim = pattern_case.settings.dim;
  const int64_t length = pattern_case.eval_length;
  const Matrix wq = DrawWeight(pattern_case, "wq");
  const Matrix wk =
      content == PatternContent::kShared ? wq : DrawWeight(pattern_case, "wk");
  const std::vector<double> shared_mean = DrawSharedMean(pattern_case);
  const AdditiveCode* const code =
      compiled == nullptr ? nullptr : CodeOf(*compiled);
  const Rotation* const rotation =
      compiled == nullptr ? nullptr : RotationOf(*compiled);
  const Rotation key_rotation =
      rotation == nullptr ? Rotation() : rotation->OfKeys();
  Projections out{Matrix(length, dim), Matrix(dim, length)};
  pool.ParallelFor(kPatternParts, [&](int64_t part) {
    std::vector<double> x(dim);
    std::vector<double> added(dim);
    HeadRotator rotate_query(rotation, dim / pattern_case.settings.head_count);
    HeadRotator rotate_key(rotation == nullptr ? nullptr : &key_rotation,
                           dim / pattern_case.settings.head_count);
    ForEachInPart(part, length, cancellation, [&](int64_t n) {
      DrawToken(pattern_case, content, shared_mean, n, absl::MakeSpan(x));
      if (code != nullptr) {
        code->Row(n, absl::MakeSpan(added));
        for (int64_t c = 0; c < dim; ++c) x[c] += added[c];
      }
      const Eigen::Map<const Eigen::RowVectorXd> row(x.data(), dim);
      Eigen::RowVectorXd q = row * wq;
      Eigen::RowVectorXd k = row * wk;
      rotate_query.SetPosition(n);
      rotate_key.SetPosition(n);
      rotate_query.Apply(q);
      rotate_key.Apply(k);
      out.q.row(n) = q;
      out.k.col(n) = k.transpose();
    });
  });
  return out;
}

}  // namespace locus
