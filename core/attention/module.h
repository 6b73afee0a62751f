// The multi-head attention layer, from embeddings to embeddings.
//
//   y = concat_h(attention(x wq, x wk, x wv)_h) wo
//
// with a scheme at its place: added to x, turning queries and keys, or added to
// the scores. Weights are given or drawn from a seed: wq, wk, wv and wo from
// the streams "module.wq" and so on, N(0, 1 / sqrt(d_model)), in row-major
// order; the embedding of a word from the stream "module.token/<word>",
// N(0, 1). See core/base/random.h for what a stream is.
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

namespace locus {

// Each [d_model, d_model], applied as x w.
struct ModuleWeights {
  TensorView wq;
  TensorView wk;
  TensorView wv;
  TensorView wo;
};

struct ModuleInputs {
  // [B, T, d_model]; instead of tokens.
  std::optional<TensorView> x;
  // Words, one sequence of them.
  std::vector<std::string> tokens;
  // d_model of tokens. 0: 64.
  int64_t dim = 0;
  // Unset: drawn from the seed.
  std::optional<ModuleWeights> weights;
  uint64_t seed = 0;
  // 0: 1.
  int64_t head_count = 0;
};

// A layer that is checked and sized, but has allocated nothing large.
class ModuleJob {
 public:
  // Field paths in errors are those of the contract's AttendRequest. The bytes
  // of inputs and mask, and the scheme, must outlive the job.
  static absl::StatusOr<ModuleJob> Create(const Scheme& scheme,
                                          ModuleInputs inputs,
                                          AttentionOptions options);
  ModuleJob(ModuleJob&&) noexcept;
  ModuleJob& operator=(ModuleJob&&) noexcept;
  ~ModuleJob();

  // What Run returns, and what it needs besides on so many threads, in bytes.
  int64_t output_bytes() const;
  int64_t scratch_bytes(int thread_count) const;
  double flops() const;

  // output: [B, T, d_model]; weights: [B, H, T, T]; log_sum_exp: [B, H, T].
  absl::StatusOr<AttentionOutputs> Run(ThreadPool& pool,
                                       const StopCheck& stop) const;

 private:
  struct Plan;
  explicit ModuleJob(std::unique_ptr<Plan> plan);

  std::unique_ptr<Plan> plan_;
};

}  // namespace locus
