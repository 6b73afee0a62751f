#include "core/evaluation/pattern/scheme_measures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include <Eigen/Core>

#include "absl/types/span.h"
#include "core/encoding/compiled.h"
#include "core/evaluation/pattern/parts.h"

namespace locus {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Codes of single positions as Eigen vectors.
class CodeRows {
 public:
  CodeRows(const AdditiveCode& code, int64_t dim) : code_(code), dim_(dim) {}

  Eigen::VectorXd operator()(int64_t position) const {
    Eigen::VectorXd row(dim_);
    code_.Row(position, absl::MakeSpan(row.data(), row.size()));
    return row;
  }

 private:
  const AdditiveCode& code_;
  const int64_t dim_;
};

double SimilarityDecay(const PatternCase& pattern_case, const CodeRows& codes) {
  const int64_t half = pattern_case.eval_length / 2;
  const int64_t pairs = pattern_case.eval_length - half;
  const int64_t count = std::min(pairs, kMaxSampled);
  double cosines = 0;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t p = PartStart(n, pairs, count);
    const Eigen::VectorXd a = codes(p);
    const Eigen::VectorXd b = codes(p + half);
    const double norms = a.norm() * b.norm();
    if (norms > 0) cosines += a.dot(b) / norms;
  }
  return 1 - cosines / static_cast<double>(count);
}

double Novelty(const PatternCase& pattern_case, const CodeRows& codes,
               CancellationState& cancellation) {
  const double step = (codes(1) - codes(0)).norm();
  const Eigen::VectorXd last = codes(pattern_case.eval_length - 1);
  double nearest = (last - codes(0)).norm();
  const int64_t known =
      std::min(pattern_case.train_length, pattern_case.eval_length);
  for (int64_t p = 1; p < known && !cancellation.ShouldStop(); ++p) {
    nearest = std::min(nearest, (last - codes(p)).norm());
  }
  return nearest / step;
}

double SlowPairShare(const PatternCase& pattern_case,
                     const Rotation& rotation) {
  double slow = 0;
  for (const double frequency : rotation.frequencies) {
    if (std::abs(frequency) * static_cast<double>(pattern_case.train_length) <
        2 * kPi) {
      slow += 1;
    }
  }
  return slow / static_cast<double>(rotation.pair_count());
}

double BiasOutsideShare(const PatternCase& pattern_case) {
  // The causal pairs (i, j), j <= i, form a triangle. Its corner with distances
  // of train_length or more is a smaller triangle. Without a mask, both are
  // mirrored.
  const double length = static_cast<double>(pattern_case.eval_length);
  const double far =
      std::max<double>(0, static_cast<double>(pattern_case.eval_length -
                                              pattern_case.train_length));
  const double outside = far * (far + 1) / 2;
  return pattern_case.settings.causal ? outside / (length * (length + 1) / 2)
                                      : 2 * outside / (length * length);
}

}  // namespace

std::map<std::string, double> MeasureScheme(const PatternCase& pattern_case,
                                            const CompiledScheme& compiled,
                                            CancellationState& cancellation) {
  std::map<std::string, double> measures;
  if (const AdditiveCode* const code = CodeOf(compiled)) {
    const CodeRows codes(*code, pattern_case.settings.dim);
    measures["similarity_decay"] = SimilarityDecay(pattern_case, codes);
    if (pattern_case.eval_length > 1) {
      measures["novelty"] = Novelty(pattern_case, codes, cancellation);
    }
  }
  if (const Rotation* const rotation = RotationOf(compiled)) {
    measures["slow_pair_share"] = SlowPairShare(pattern_case, *rotation);
  }
  if (BiasOf(compiled) != nullptr) {
    measures["bias_outside_share"] = BiasOutsideShare(pattern_case);
  }
  return measures;
}

}  // namespace locus
