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

Matrix Weight(const PatternCall& call, absl::string_view name) {
  Matrix weight(call.settings.dim, call.settings.dim);
  RandomStream(call.seed, absl::StrCat("pattern.", name))
      .FillNormal(1 / std::sqrt(static_cast<double>(call.settings.dim)),
                  absl::MakeSpan(weight.data(), weight.size()));
  return weight;
}

// What all tokens share if they share anything, [dim].
std::vector<double> Common(const PatternCall& call) {
  std::vector<double> common(call.settings.dim);
  RandomStream(call.seed, "pattern.common")
      .FillNormal(1, absl::MakeSpan(common));
  return common;
}

// Token n before positions, [dim].
void Token(const PatternCall& call, PatternContent content,
           const std::vector<double>& common, int64_t n,
           absl::Span<double> row) {
  RandomStream(call.seed, absl::StrCat("pattern.token/", n)).FillNormal(1, row);
  if (content == PatternContent::kDrawn) return;
  for (size_t c = 0; c < row.size(); ++c) {
    row[c] = (row[c] + common[c]) / std::sqrt(2.0);
  }
}

// Turns all heads of a row as at position n.
class Turn {
 public:
  // Null: leaves rows as they are.
  Turn(const Rotation* rotation, int64_t head_dim)
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

Projections Project(const PatternCall& call, PatternContent content,
                    const CompiledScheme* compiled, ThreadPool& pool,
                    Stopper& stopper) {
  const int64_t dim = call.settings.dim;
  const int64_t length = call.eval_length;
  const Matrix wq = Weight(call, "wq");
  const Matrix wk =
      content == PatternContent::kShared ? wq : Weight(call, "wk");
  const std::vector<double> common = Common(call);
  const AdditiveCode* const code =
      compiled == nullptr ? nullptr : CodeOf(*compiled);
  const Rotation* const rotation =
      compiled == nullptr ? nullptr : RotationOf(*compiled);
  const Rotation of_keys =
      rotation == nullptr ? Rotation() : rotation->OfKeys();
  Projections out{Matrix(length, dim), Matrix(dim, length)};
  pool.ParallelFor(kPatternParts, [&](int64_t part) {
    std::vector<double> x(dim);
    std::vector<double> added(dim);
    Turn turn(rotation, dim / call.settings.head_count);
    Turn turn_key(rotation == nullptr ? nullptr : &of_keys,
                  dim / call.settings.head_count);
    ForEachInPart(part, length, stopper, [&](int64_t n) {
      Token(call, content, common, n, absl::MakeSpan(x));
      if (code != nullptr) {
        code->Row(n, absl::MakeSpan(added));
        for (int64_t c = 0; c < dim; ++c) x[c] += added[c];
      }
      const Eigen::Map<const Eigen::RowVectorXd> row(x.data(), dim);
      Eigen::RowVectorXd q = row * wq;
      Eigen::RowVectorXd k = row * wk;
      turn.SetPosition(n);
      turn_key.SetPosition(n);
      turn.Apply(q);
      turn_key.Apply(k);
      out.q.row(n) = q;
      out.k.col(n) = k.transpose();
    });
  });
  return out;
}

}  // namespace locus
