// An attention problem that the kernel and plain Eigen can run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/attention/attention.h"
#include "core/base/tensor.h"
#include "core/encoding/scheme.h"
#include "core/parallel/thread_pool.h"
#include "tests/bench/side_by_side.h"

namespace locus::bench {

// Values of AttentionShape::option: input types other than float32, and
// options.
inline constexpr const char* kOptions[] = {
    "float16",   "bfloat16",      "float64", "softcap",
    "window",    "ids",           "packed",  "key_padding",
    "bool_mask", "additive_mask", "weights", "log_sum_exp"};

// Sizes and options of an attention problem with batch size 1.
struct AttentionShape {
  int64_t query_count = 0;
  int64_t key_count = 0;
  int64_t dim = 64;
  int64_t head_count = 8;
  int64_t key_head_count = head_count;
  bool causal = false;
  std::string scheme = "none";
  // One of kOptions, or empty.
  std::string option;
  int threads = 1;

  // A shape with `length` queries and keys.
  static AttentionShape Square(int64_t length, int64_t dim = 64,
                               bool causal = false);
  // Labels of a table row: sizes, scheme and threads.
  std::vector<std::string> Labels() const;
  // Number of multiplications and additions: 4 D for each visible pair of query
  // and key, including pairs that the kernel skips.
  double Flops() const;
  // Total size of keys and values, which a query has to read.
  int64_t KeyAndValueBytes() const;
};

// AttentionJob::scratch_bytes() of a shape. Allocates no inputs.
absl::StatusOr<int64_t> ScratchBytes(const AttentionShape& shape);

// Random inputs of one shape, with a job and a thread pool to run it.
class AttentionCase {
 public:
  static absl::StatusOr<std::unique_ptr<AttentionCase>> Create(
      const AttentionShape& shape);

  // The kernel. Work is in flops. The case must outlive the contender.
  Contender Ours();
  // Plain Eigen, which ignores scheme and options. Work is in flops. The case
  // must outlive the contender.
  Contender Eigen();
  // Returns an error if the results of kernel and plain Eigen differ. Only for
  // shapes without scheme and options.
  absl::Status CheckAgreement();

  ThreadPool& pool() { return pool_; }
  int64_t scratch_bytes() const {
    return job_->scratch_bytes(pool_.thread_count());
  }

 private:
  explicit AttentionCase(const AttentionShape& shape);

  const AttentionShape shape_;
  ThreadPool pool_;
  const Tensor q_;
  const Tensor k_;
  const Tensor v_;
  Tensor mask_;
  Tensor eigen_output_;
  std::unique_ptr<Scheme> scheme_;
  std::optional<AttentionJob> job_;
};

}  // namespace locus::bench
