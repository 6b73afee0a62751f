// A multi-head attention layer: projections, attention and output projection.
//
//   y = concat_h(attention(x wq, x wk, x wv)_h) wo
//
// The scheme is applied where it acts: an additive code is added to x, a
// rotation is applied to queries and keys, a bias is added to the scores.
//
// Weights are passed in or drawn from a seed. The streams "module.wq",
// "module.wk", "module.wv" and "module.wo" (see core/base/random.h) yield the
// matrices in row-major order, with mean 0 and standard deviation
// 1 / sqrt(d_model). The stream "module.token/<word>" yields the embedding of a
// word, with mean 0 and standard deviation 1.
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

// Projection matrices, each [d_model, d_model], applied as x w.
struct ModuleWeights {
  TensorView wq;
  TensorView wk;
  TensorView wv;
  TensorView wo;
};

struct ModuleInputs {
  // Embeddings, [B, T, d_model]. Either x or tokens is used.
  std::optional<TensorView> x;
  // One sequence of words, whose embeddings are drawn from the seed.
  std::vector<std::string> tokens;
  // d_model of the embeddings of tokens. 0 selects the default, 64.
  int64_t dim = 0;
  // Default: drawn from the seed.
  std::optional<ModuleWeights> weights;
  uint64_t seed = 0;
  // 0 selects the default, 1.
  int64_t head_count = 0;
};

// A validated layer that can be sized before it is run; the counterpart of
// AttentionJob for embeddings. Creating a job allocates nothing large.
// Immutable after creation, and therefore thread-safe.
class ModuleJob {
 public:
  // Returns INVALID_ARGUMENT if inputs or options are invalid; errors name
  // fields of the AttendRequest message. The scheme and the data of inputs and
  // mask must outlive the job.
  static absl::StatusOr<ModuleJob> Create(const Scheme& scheme,
                                          ModuleInputs inputs,
                                          AttentionOptions options);
  ModuleJob(ModuleJob&&) noexcept;
  ModuleJob& operator=(ModuleJob&&) noexcept;
  ~ModuleJob();

  // Size of the tensors that Run() returns.
  int64_t output_bytes() const;
  // Upper bound of the memory that Run() allocates in addition to its result.
  int64_t scratch_bytes(int thread_count) const;
  // Number of multiplications and additions, projections included.
  double flops() const;

  // Computes the layer. The shapes are [B, T, d_model] for output,
  // [B, H, T, T] for weights and [B, H, T] for log_sum_exp. The status of
  // `stop` is the only error that Run() returns.
  absl::StatusOr<AttentionOutputs> Run(ThreadPool& pool,
                                       const CancellationCheck& stop) const;

 private:
  struct Plan;
  explicit ModuleJob(std::unique_ptr<Plan> plan);

  std::unique_ptr<Plan> plan_;
};

}  // namespace locus
