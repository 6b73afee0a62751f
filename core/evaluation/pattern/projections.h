// The queries and keys of a pattern's layer.
#pragma once

#include <Eigen/Core>

#include "core/parallel/stopper.h"
#include "core/parallel/thread_pool.h"
#include "core/encoding/scheme.h"
#include "core/evaluation/pattern/pattern.h"

namespace locus {

// Tokens as drawn, or with one mean for all; see core/evaluation/pattern/pattern.h.
enum class PatternContent { kDrawn, kShared };

// Queries [T, dim] and keys [dim, T], heads side by side.
struct Projections {
  using Matrix =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Matrix q;
  Matrix k;
};

// With the scheme in its place, or without any if it is null. Of no worth once
// stopped.
Projections Project(const PatternCall& call, PatternContent content,
                    const CompiledScheme* compiled, ThreadPool& pool,
                    Stopper& stopper);

}  // namespace locus
