// One shape of attention, ready to be run by the kernel and by plain Eigen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/attention/attention.h"
#include "core/base/tensor.h"
#include "core/parallel/thread_pool.h"
#include "core/encoding/scheme.h"
#include "tests/bench/side_by_side.h"

namespace locus::bench {

// What a call may ask for besides: inputs of other types, and options.
inline constexpr const char* kOptions[] = {
    "float16",   "bfloat16",      "float64", "softcap",
    "window",    "ids",           "packed",  "key_padding",
    "bool_mask", "additive_mask", "weights", "log_sum_exp"};

struct AttentionShape {
  int64_t query_count = 0;
  int64_t key_count = 0;
  int64_t dim = 64;
  int64_t head_count = 8;
  int64_t key_head_count = head_count;
  bool causal = false;
  std::string scheme = "none";
  // One of kOptions, or nothing.
  std::string option;
  int threads = 1;

  // As many queries as keys.
  static AttentionShape Square(int64_t length, int64_t dim = 64,
                               bool causal = false);
  // A row's labels: sizes, scheme and threads.
  std::vector<std::string> Labels() const;
  // 4 D multiplications and additions for each pair of a query and a key that
  // it sees, whatever the kernel leaves out besides.
  double Flops() const;
  // What one query has to read at least.
  int64_t KeyAndValueBytes() const;
};

// What the kernel says it needs beyond input and output. Allocates nothing.
absl::StatusOr<int64_t> ScratchBytes(const AttentionShape& shape);

class AttentionCase {
 public:
  static absl::StatusOr<std::unique_ptr<AttentionCase>> Create(
      const AttentionShape& shape);

  // What these return must not outlive the case; work is in flops.
  Contender Ours();
  // Without positions, whatever the scheme.
  Contender Eigen();
  // Whether both compute the same; only without positions.
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
