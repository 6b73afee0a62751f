// Encoding: computes the tables of a scheme and applies the scheme to a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/encoding/scheme.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"

namespace locus {

// Options of an encoding.
struct EncodeOptions {
  // Positions of tokens, or of queries for biases. Unset: 0, 1, ... along the
  // input's sequence axis.
  std::optional<Positions> positions;
  // Positions of keys; only for biases. Unset: the positions of the queries, or
  // 0, 1, ... along the input's last axis if those are unset too.
  std::optional<Positions> key_positions;
  // Width. 0: the width that the scheme's parameters are for, or the input's
  // last axis.
  int64_t dim = 0;
  // Number of heads; only for biases. 0: the number that the scheme's
  // parameters are for, or the input's third axis from the end.
  int64_t head_count = 0;
  // The tensor to apply the scheme to: embeddings, queries or keys
  // [..., T, dim], or scores [..., H, Tq, Tk].
  std::optional<TensorView> input;
  // Type of the tables that are returned; floating point.
  DType dtype = DType::kFloat32;
  // Whether to compute and apply a rotation as for keys instead of queries.
  // Only rotations with growth, such as xPos, differ between the two.
  bool of_keys = false;
  // Length of the sequence that the positions are a part of. Schemes whose
  // numbers depend on the positions of the whole call use 0, 1, ...,
  // sequence_length - 1, so that the rows of a page equal those of one call for
  // the whole sequence. 0: the positions of the call are the whole sequence.
  int64_t sequence_length = 0;
  // Lengths within which the rotations of each pair are counted. 0: the lengths
  // of the scheme's parameters.
  int64_t trained_length = 0;
  double target_length = 0;
};

// Result for a scheme that acts on embeddings. See AdditiveCode for the
// members.
struct AdditiveEncoding {
  Tensor table;  // [T, dim]
  std::vector<double> frequencies;
  int64_t table_length = 0;
  std::string policy;
};
// Result for a scheme that acts on queries and keys. See Rotation for the
// members.
struct RotationEncoding {
  Tensor cos;  // [T, pairs]
  Tensor sin;  // [T, pairs]
  std::vector<double> frequencies;
  double attention_factor = 1;
  // Factor of each pair's contribution to a score per position of distance;
  // empty if nothing decays.
  std::vector<double> decays;
  Rotation::Origin origin;
};
// Result for a scheme that acts on scores. See ScoreBias for the members.
struct BiasEncoding {
  // [H, Tq, Tk]. A causal bias is -inf for keys after their query.
  Tensor bias;
  std::vector<double> slopes;
  std::vector<int64_t> bucket_edges;
  std::vector<ScoreBias::HeadNumbers> head_numbers;
};

// Result of an encoding.
struct Encoding {
  std::variant<std::monostate, AdditiveEncoding, RotationEncoding, BiasEncoding>
      numbers;
  // The input with the scheme applied; unset if there was no input.
  std::optional<Tensor> output;
};

// An encoding that has been validated and sized, but has allocated nothing
// large yet, so that a server can reserve memory before it runs the job.
// Thread-safe once created.
class EncodeJob {
 public:
  // Field paths in errors are those of EncodeRequest in the protocol. The bytes
  // of `options.input` must outlive the job.
  static absl::StatusOr<EncodeJob> Create(const Scheme& scheme,
                                          EncodeOptions options);

  // Size of the result, in bytes.
  int64_t output_bytes() const { return output_bytes_; }
  // Scratch memory that Run() needs on that many threads, in bytes.
  int64_t scratch_bytes(int thread_count) const;
  // Estimated number of floating-point operations.
  double flops() const;

  // Runs the job. Fails only with a status of `stop`.
  absl::StatusOr<Encoding> Run(ThreadPool& pool,
                               const CancellationCheck& stop) const;
  // Same as Run(), but reuses the memory of an earlier result with the same
  // types and shapes. Allocating a large buffer costs more than filling it.
  absl::Status RunAgain(ThreadPool& pool, const CancellationCheck& stop,
                        Encoding& encoding) const;

 private:
  EncodeJob() = default;
  absl::Status ResolveDefaults(const Scheme& scheme);
  absl::Status CheckInput() const;
  absl::Status ComputeSizes();

  EncodeOptions options_;
  Positions positions_;
  Positions key_positions_;
  // 0, 1, ..., sequence_length - 1; empty if the length is not given.
  Positions sequence_;
  CompiledScheme compiled_;
  int64_t output_bytes_ = 0;
};

}  // namespace locus
