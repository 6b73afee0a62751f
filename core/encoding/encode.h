// A scheme's numbers, and a scheme applied to a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parallel/cancellation.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/parallel/thread_pool.h"
#include "core/encoding/scheme.h"

namespace locus {

struct EncodeOptions {
  // Unset: 0, 1, ... along the input's sequence axis.
  std::optional<Positions> positions;
  // Biases alone. Unset: those of the queries; 0, 1, ... along the input's last
  // axis if those are unset, too.
  std::optional<Positions> key_positions;
  // 0: the input's last axis, or what the scheme's parameters were made for.
  int64_t dim = 0;
  // Biases alone. 0: as the scheme's parameters or the input have it.
  int64_t head_count = 0;
  // Embeddings, queries or keys [..., T, dim], or scores [..., H, Tq, Tk].
  std::optional<TensorView> input;
  // Of the numbers returned; floating point.
  DType dtype = DType::kFloat32;
  // Whether a rotation's numbers, and the input, are those of keys rather than
  // of queries, where these differ.
  bool of_keys = false;
  // What a rotation's turns are counted in; 0: what the scheme says.
  int64_t trained_length = 0;
  double target_length = 0;
};

struct AdditiveEncoding {
  Tensor table;  // [T, dim]
  std::vector<double> frequencies;
  int64_t table_length = 0;
  std::string policy;  // past such a table
};
struct RotationEncoding {
  Tensor cos;  // [T, pairs]
  Tensor sin;  // [T, pairs]
  std::vector<double> frequencies;
  double attention_factor = 1;
  // What each pair's part of a score is multiplied by for every position of
  // distance; empty if nothing decays.
  std::vector<double> decays;
  Rotation::Origin origin;
};
struct BiasEncoding {
  // [H, Tq, Tk]; -inf where a causal bias has a key after its query.
  Tensor bias;
  std::vector<double> slopes;
  std::vector<int64_t> bucket_edges;
  std::vector<ScoreBias::HeadNumbers> head_numbers;
};

struct Encoding {
  std::variant<std::monostate, AdditiveEncoding, RotationEncoding, BiasEncoding>
      numbers;
  // The input with the scheme applied, if there was one.
  std::optional<Tensor> output;
};

// An encoding that is checked and sized, but has allocated nothing large yet.
class EncodeJob {
 public:
  // Field paths in errors are those of the contract's EncodeRequest. The bytes
  // of `options.input` must outlive the job.
  static absl::StatusOr<EncodeJob> Create(const Scheme& scheme,
                                          EncodeOptions options);

  // What Run returns, and what it needs besides on so many threads, in bytes.
  int64_t output_bytes() const { return output_bytes_; }
  int64_t scratch_bytes(int thread_count) const;
  // Multiplications and additions, about.
  double flops() const;

  // Only fails as `stop` says.
  absl::StatusOr<Encoding> Run(ThreadPool& pool, const StopCheck& stop) const;
  // The same in the memory of an earlier result of this job, or of one of the
  // same sizes: to get a large buffer from the system costs more than to fill
  // it.
  absl::Status RunAgain(ThreadPool& pool, const StopCheck& stop,
                        Encoding& encoding) const;

 private:
  EncodeJob() = default;
  absl::Status ResolveDefaults(const Scheme& scheme);
  absl::Status CheckInput() const;
  absl::Status ComputeSizes();

  EncodeOptions options_;
  Positions positions_;
  Positions key_positions_;
  CompiledScheme compiled_;
  int64_t output_bytes_ = 0;
};

}  // namespace locus
