// Queries and keys of the layer of pattern mode.
#pragma once

#include <Eigen/Core>

#include "core/encoding/scheme.h"
#include "core/evaluation/pattern/pattern.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"

namespace locus {

// Whether tokens are independent or have a common mean; see pattern.h.
enum class PatternContent { kDrawn, kShared };

// Queries [T, dim] and keys [dim, T], heads side by side.
struct Projections {
  using Matrix =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Matrix q;
  Matrix k;
};

// Draws tokens, adds codes, projects and rotates. A null `compiled` means no
// positions. The result is incomplete after a cancellation.
Projections Project(const PatternCase& pattern_case, PatternContent content,
                    const CompiledScheme* compiled, ThreadPool& pool,
                    CancellationState& cancellation);

}  // namespace locus
