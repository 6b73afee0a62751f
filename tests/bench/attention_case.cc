#include "tests/bench/attention_case.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <benchmark/benchmark.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "tests/bench/plain_eigen.h"

namespace locus::bench {
namespace {

Tensor RandomTensor(const Shape& shape, absl::string_view purpose) {
  Tensor tensor(DType::kFloat32, shape);
  RandomStream(1, purpose)
      .FillNormal(1, absl::MakeSpan(reinterpret_cast<float*>(tensor.at(0)),
                                    tensor.element_count()));
  return tensor;
}

DType TypeOf(const AttentionShape& shape) {
  if (shape.option == "float16") return DType::kFloat16;
  if (shape.option == "bfloat16") return DType::kBFloat16;
  if (shape.option == "float64") return DType::kFloat64;
  return DType::kFloat32;
}

Tensor RandomHeads(const AttentionShape& shape, int64_t head_count,
                   int64_t length, absl::string_view purpose) {
  const Tensor drawn =
      RandomTensor({1, head_count, length, shape.dim}, purpose);
  Tensor tensor(TypeOf(shape), drawn.shape());
  WriteRow(tensor.dtype(), reinterpret_cast<const float*>(drawn.view().data),
           tensor.element_count(), tensor.at(0));
  return tensor;
}

// A mask that hides every seventh element or, if `is_padding`, the last
// quarter.
Tensor BoolMask(const Shape& shape, bool is_padding) {
  Tensor mask(DType::kBool, shape);
  const int64_t count = mask.element_count();
  for (int64_t i = 0; i < count; ++i) {
    *mask.at(i) = is_padding ? i < count - count / 4 : i % 7 != 3;
  }
  return mask;
}

Tensor MaskFor(const AttentionShape& shape) {
  const Shape each_pair = {shape.query_count, shape.key_count};
  if (shape.option == "additive_mask") return RandomTensor(each_pair, "mask");
  if (shape.option == "bool_mask") return BoolMask(each_pair, false);
  return BoolMask({1, shape.key_count}, true);
}

// Reversed positions or, if `packed`, the positions of several sequences of 300
// tokens.
Positions Ids(int64_t count, bool packed) {
  constexpr int64_t kPackedLength = 300;
  std::vector<int64_t> ids(count);
  for (int64_t i = 0; i < count; ++i) {
    ids[i] = packed ? i % kPackedLength : count - 1 - i;
  }
  return *Positions::Ids(std::move(ids));
}

const float* Floats(const TensorView& tensor) {
  return reinterpret_cast<const float*>(tensor.data);
}

}  // namespace

AttentionShape AttentionShape::Square(int64_t length, int64_t dim,
                                      bool causal) {
  AttentionShape shape;
  shape.query_count = length;
  shape.key_count = length;
  shape.dim = dim;
  shape.causal = causal;
  return shape;
}

std::vector<std::string> AttentionShape::Labels() const {
  std::string sizes = query_count == key_count
                          ? absl::StrCat("T", key_count)
                          : absl::StrCat("Tq", query_count, ",Tk", key_count);
  absl::StrAppend(&sizes, ",H", head_count);
  if (key_head_count != head_count) {
    absl::StrAppend(&sizes, ",Hkv", key_head_count);
  }
  absl::StrAppend(&sizes, ",D", dim);
  return {sizes,
          absl::StrCat(scheme, causal ? ",causal" : "",
                       option.empty() ? "" : ",", option),
          absl::StrCat("threads:", threads)};
}

double AttentionShape::Flops() const {
  double pairs = 0;
  for (int64_t i = 0; i < query_count; ++i) {
    pairs +=
        static_cast<double>(causal ? std::min(i + 1, key_count) : key_count);
  }
  return 4 * pairs * static_cast<double>(dim * head_count);
}

int64_t AttentionShape::KeyAndValueBytes() const {
  return 2 * key_head_count * key_count * dim *
         static_cast<int64_t>(sizeof(float));
}

absl::StatusOr<int64_t> ScratchBytes(const AttentionShape& shape) {
  const TensorView q{DType::kFloat32,
                     {1, shape.head_count, shape.query_count, shape.dim}};
  const TensorView k{DType::kFloat32,
                     {1, shape.key_head_count, shape.key_count, shape.dim}};
  LOCUS_ASSIGN_OR_RETURN(const auto scheme,
                         MakeScheme(*FindScheme(shape.scheme), {}));
  AttentionOptions options;
  options.causal = shape.causal;
  LOCUS_ASSIGN_OR_RETURN(const auto job,
                         AttentionJob::Create(*scheme, {q, k, k}, options));
  return job.scratch_bytes(shape.threads);
}

AttentionCase::AttentionCase(const AttentionShape& shape)
    : shape_(shape),
      pool_(shape.threads),
      q_(RandomHeads(shape, shape.head_count, shape.query_count, "q")),
      k_(RandomHeads(shape, shape.key_head_count, shape.key_count, "k")),
      v_(RandomHeads(shape, shape.key_head_count, shape.key_count, "v")) {}

absl::StatusOr<std::unique_ptr<AttentionCase>> AttentionCase::Create(
    const AttentionShape& shape) {
  std::unique_ptr<AttentionCase> result(new AttentionCase(shape));
  LOCUS_ASSIGN_OR_RETURN(result->scheme_,
                         MakeScheme(*FindScheme(shape.scheme), {}));
  AttentionOptions options;
  options.causal = shape.causal;
  if (shape.option == "softcap") options.softcap = 20;
  if (shape.option == "window") options.window = 256;
  if (shape.option == "weights") options.return_weights = true;
  if (shape.option == "log_sum_exp") options.return_log_sum_exp = true;
  if (shape.option == "ids" || shape.option == "packed") {
    const bool packed = shape.option == "packed";
    options.query_positions = Ids(shape.query_count, packed);
    options.key_positions = Ids(shape.key_count, packed);
  }
  if (absl::EndsWith(shape.option, "_mask") || shape.option == "key_padding") {
    result->mask_ = MaskFor(shape);
    options.mask = result->mask_.view();
  }
  LOCUS_ASSIGN_OR_RETURN(
      result->job_,
      AttentionJob::Create(
          *result->scheme_,
          {result->q_.view(), result->k_.view(), result->v_.view()}, options));
  return result;
}

Contender AttentionCase::Ours() {
  return {[this] {
            auto output = job_->Run(pool_, nullptr);
            benchmark::DoNotOptimize(output);
          },
          shape_.Flops()};
}

Contender AttentionCase::Eigen() {
  eigen_output_ = Tensor(
      DType::kFloat32, {1, shape_.head_count, shape_.query_count, shape_.dim});
  const EigenHeads heads{
      .q = Floats(q_.view()),
      .k = Floats(k_.view()),
      .v = Floats(v_.view()),
      .output = reinterpret_cast<float*>(eigen_output_.at(0)),
      .head_count = shape_.head_count,
      .key_head_count = shape_.key_head_count,
      .query_count = shape_.query_count,
      .key_count = shape_.key_count,
      .dim = shape_.dim,
      .causal = shape_.causal};
  return {[this, heads] {
            EigenAttend(heads, pool_);
            benchmark::ClobberMemory();
          },
          shape_.Flops()};
}

absl::Status AttentionCase::CheckAgreement() {
  constexpr float kTolerance = 1e-4F;
  Eigen().run();
  LOCUS_ASSIGN_OR_RETURN(const AttentionOutputs ours,
                         job_->Run(pool_, nullptr));
  const float* const a = Floats(ours.output.view());
  const float* const b = Floats(eigen_output_.view());
  for (int64_t i = 0; i < eigen_output_.element_count(); ++i) {
    if (std::abs(a[i] - b[i]) <= kTolerance) continue;
    return absl::InternalError(
        absl::StrCat("output[", i, "] is ", a[i], ", but Eigen's is ", b[i]));
  }
  return absl::OkStatus();
}

}  // namespace locus::bench
