#include "core/attention/attention.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/attention/problem.h"
#include "core/base/status.h"

namespace locus {
namespace {

// Limits of query_offset and window. Their sum does not overflow, and a window
// of kMaxWindow covers all keys from any offset.
constexpr int64_t kMaxOffset = int64_t{1} << 61;
constexpr int64_t kMaxWindow = int64_t{1} << 62;
// Limits that keep scaled and capped scores within the range of float32.
constexpr double kMaxScale = 1e18;
constexpr double kMinSoftcap = 1e-6;
constexpr double kMaxSoftcap = 1e18;

absl::Status CheckRank(absl::string_view field, const TensorView& tensor,
                       absl::string_view expected) {
  if (tensor.rank() == 4) return absl::OkStatus();
  return InvalidField(
      absl::StrCat(field, ".shape"),
      absl::StrCat("is ", ToString(tensor.shape), "; must be ", expected));
}

absl::Status CheckAxis(absl::string_view field, const TensorView& tensor,
                       int axis, int64_t expected, absl::string_view other) {
  if (tensor.extent(axis) == expected) return absl::OkStatus();
  return InvalidField(
      absl::StrCat(field, ".shape"),
      absl::StrCat("is ", ToString(tensor.shape), "; axis ", axis, " must be ",
                   expected, ", like that of ", other));
}

absl::Status CheckPositive(absl::string_view field, const TensorView& tensor,
                           int axis) {
  if (tensor.extent(axis) >= 1) return absl::OkStatus();
  return InvalidField(absl::StrCat(field, ".shape"),
                      absl::StrCat("is ", ToString(tensor.shape), "; axis ",
                                   axis, " must be at least 1"));
}

absl::Status CheckInputs(const AttentionInputs& inputs) {
  const auto& [q, k, v] = inputs;
  LOCUS_RETURN_IF_ERROR(CheckRank("heads.q", q, "[B, Hq, Tq, D]"));
  LOCUS_RETURN_IF_ERROR(CheckRank("heads.k", k, "[B, Hkv, Tk, D]"));
  LOCUS_RETURN_IF_ERROR(CheckRank("heads.v", v, "[B, Hkv, Tk, Dv]"));
  if (!IsFloatingPoint(q.dtype)) {
    return InvalidField("heads.q.dtype",
                        absl::StrCat("is ", NameOf(q.dtype),
                                     "; must be FLOAT32, FLOAT64, FLOAT16 or "
                                     "BFLOAT16"));
  }
  for (const auto& [field, tensor] :
       {std::pair("heads.k.dtype", &k), std::pair("heads.v.dtype", &v)}) {
    if (tensor->dtype == q.dtype) continue;
    return InvalidField(field,
                        absl::StrCat("is ", NameOf(tensor->dtype), "; must be ",
                                     NameOf(q.dtype), ", the type of heads.q"));
  }
  LOCUS_RETURN_IF_ERROR(CheckPositive("heads.q", q, 1));
  LOCUS_RETURN_IF_ERROR(CheckPositive("heads.q", q, 3));
  LOCUS_RETURN_IF_ERROR(CheckPositive("heads.k", k, 1));
  LOCUS_RETURN_IF_ERROR(CheckPositive("heads.v", v, 3));
  LOCUS_RETURN_IF_ERROR(CheckAxis("heads.k", k, 0, q.extent(0), "heads.q"));
  LOCUS_RETURN_IF_ERROR(CheckAxis("heads.k", k, 3, q.extent(3), "heads.q"));
  for (const int axis : {0, 1, 2}) {
    LOCUS_RETURN_IF_ERROR(
        CheckAxis("heads.v", v, axis, k.extent(axis), "heads.k"));
  }
  if (q.extent(1) % k.extent(1) != 0) {
    return InvalidField(
        "heads.k.shape",
        absl::StrCat("is ", ToString(k.shape), "; its ", k.extent(1),
                     " heads must divide the ", q.extent(1), " of heads.q"));
  }
  for (const auto& [field, tensor] :
       {std::pair("heads.q.shape", &q), std::pair("heads.v.shape", &v)}) {
    if (tensor->extent(3) <= kMaxDim) continue;
    return LimitExceeded(
        field, "max_dim",
        absl::StrCat("is ", ToString(tensor->shape),
                     "; the maximum head dimension is ", kMaxDim));
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const AttentionOptions& options) {
  if (options.query_offset && options.bottom_right) {
    return InvalidField("options.bottom_right",
                        "must not be combined with query_offset");
  }
  if (const int64_t offset = options.query_offset.value_or(0);
      offset > kMaxOffset || offset < -kMaxOffset) {
    return InvalidField(
        "options.query_offset",
        absl::StrCat("is ", offset, "; must lie within 2^61 of 0"));
  }
  if (options.window < 0) {
    return InvalidField("options.window",
                        absl::StrCat("is ", options.window,
                                     "; must be positive, or 0 for none"));
  }
  // The condition is written so that NaN is out of range.
  if (options.scale && !(std::abs(*options.scale) <= kMaxScale)) {
    return InvalidField("options.scale",
                        absl::StrCat("is ", *options.scale, "; must be from ",
                                     -kMaxScale, " to ", kMaxScale));
  }
  if (options.softcap != 0 &&
      !(options.softcap >= kMinSoftcap && options.softcap <= kMaxSoftcap)) {
    return InvalidField(
        "options.softcap",
        absl::StrCat("is ", options.softcap, "; must be from ", kMinSoftcap,
                     " to ", kMaxSoftcap, ", or 0 for none"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Mask> BroadcastMask(const TensorView& tensor,
                                   const AttentionProblem& problem) {
  const int64_t full[] = {problem.batch_count, problem.query_head_count,
                          problem.query_count, problem.key_count};
  if (tensor.dtype == DType::kInt64) {
    return InvalidField("options.mask.dtype",
                        "is INT64; must be BOOL or floating point");
  }
  int64_t strides[4] = {0, 0, 0, 0};
  bool fits = tensor.rank() <= 4;
  int64_t stride = 1;
  for (int axis = 3; fits && axis >= 0; --axis) {
    const int64_t mask_axis = axis - (4 - tensor.rank());
    if (mask_axis < 0) break;
    const int64_t extent = tensor.shape[mask_axis];
    fits = extent == 1 || extent == full[axis];
    strides[axis] = extent == 1 ? 0 : stride;
    // The product can only overflow for a mask without elements.
    stride = CheckedMul(stride, extent).value_or(0);
  }
  if (!fits) {
    return InvalidField(
        "options.mask.shape",
        absl::StrCat("is ", ToString(tensor.shape),
                     "; must broadcast to [B, Hq, Tq, Tk] = ",
                     ToString(Shape(std::begin(full), std::end(full)))));
  }
  return Mask{tensor, strides[0], strides[1], strides[2], strides[3]};
}

absl::Status CheckCount(absl::string_view field, const Positions& positions,
                        int64_t expected) {
  if (positions.size() == expected) return absl::OkStatus();
  return InvalidField(
      field, absl::StrCat("has ", positions.size(), " positions; there are ",
                          expected, " tokens"));
}

// Sets the positions of queries and keys: those of the options or, by default,
// the indices.
absl::Status ResolvePositions(const Scheme& scheme, AttentionOptions& options,
                              AttentionProblem& problem) {
  if (options.key_positions) {
    LOCUS_RETURN_IF_ERROR(CheckCount(
        "options.key_positions", *options.key_positions, problem.key_count));
    problem.key_positions = *std::move(options.key_positions);
  } else {
    problem.key_positions = *Positions::Range(0, problem.key_count);
  }
  if (options.query_positions) {
    LOCUS_RETURN_IF_ERROR(CheckCount("options.query_positions",
                                     *options.query_positions,
                                     problem.query_count));
    problem.query_positions = *std::move(options.query_positions);
    return absl::OkStatus();
  }
  if (problem.query_offset < 0 && scheme.site() != Site::kNone &&
      problem.query_count > 0) {
    return InvalidField(
        options.bottom_right ? "options.bottom_right" : "options.query_offset",
        absl::StrCat("places the first query at ", problem.query_offset,
                     "; positions must not be negative; set "
                     "options.query_positions"));
  }
  // Negative indices only remain if no scheme uses the positions.
  auto range = Positions::Range(std::max<int64_t>(problem.query_offset, 0),
                                problem.query_count);
  if (!range.ok()) return Within("options.query_positions", range.status());
  problem.query_positions = *std::move(range);
  return absl::OkStatus();
}

absl::Status ApplyScheme(const Scheme& scheme, AttentionProblem& problem) {
  if (scheme.site() == Site::kEmbeddings) {
    return InvalidField(
        "scheme", absl::StrCat(scheme.name(),
                               " acts on embeddings, which heads does not "
                               "have; use module instead of heads"));
  }
  const int64_t last =
      std::max(problem.query_positions.max(), problem.key_positions.max());
  const int64_t first =
      SmallestOf(problem.query_positions, problem.key_positions);
  LOCUS_ASSIGN_OR_RETURN(CompiledScheme compiled,
                         scheme.Compile({.dim = problem.dim,
                                         .head_count = problem.query_head_count,
                                         .max_position = last,
                                         .min_position = first,
                                         .max_exponent = kDoubleExponent}));
  if (auto* rotation = std::get_if<Rotation>(&compiled)) {
    if (rotation->is_causal && !problem.causal) {
      return InvalidField(
          "options.causal",
          absl::StrCat("is false; ", scheme.name(),
                       " is defined for causal attention only"));
    }
    // The growth factors of query and key cancel in the score, but the rotated
    // rows must not overflow.
    if (rotation->GrowthExponent(first, last) > kSingleExponent) {
      problem.kernel_dtype = DType::kFloat64;
    }
    problem.rotation = std::move(*rotation);
  } else if (auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(&compiled)) {
    problem.bias = std::move(*bias);
    if (problem.bias->is_causal() && !problem.causal) {
      const absl::string_view parameter = problem.bias->causal_parameter();
      return InvalidField(
          absl::StrCat("scheme.", scheme.name(), ".", parameter),
          absl::StrCat("is false, which requires options.causal; set ",
                       parameter, " to attend in both directions"));
    }
  }
  return absl::OkStatus();
}

std::optional<int64_t> OutputBytes(const AttentionProblem& problem) {
  const auto queries = CheckedProduct(
      {problem.batch_count, problem.query_head_count, problem.query_count});
  if (!queries) return std::nullopt;
  const int64_t wide = SizeOf(problem.wide_dtype);
  auto bytes =
      CheckedProduct({*queries, problem.value_dim, SizeOf(problem.dtype)});
  const auto weights = problem.return_weights
                           ? CheckedProduct({*queries, problem.key_count, wide})
                           : 0;
  const auto sums = problem.return_log_sum_exp ? CheckedMul(*queries, wide) : 0;
  for (const auto& part : {weights, sums}) {
    if (!bytes || !part) return std::nullopt;
    bytes = CheckedAdd(*bytes, *part);
  }
  return bytes;
}

}  // namespace

double Mask::At(int64_t b, int64_t h, int64_t i, int64_t j) const {
  const char* const element = tensor.at(Element(b, h, i, j));
  if (tensor.dtype == DType::kBool) {
    return *element != 0 ? 0 : -std::numeric_limits<double>::infinity();
  }
  double value;
  ReadRow(tensor.dtype, element, 1, &value);
  return value;
}

AttentionJob::AttentionJob() : problem_(std::make_unique<AttentionProblem>()) {}
AttentionJob::AttentionJob(AttentionJob&&) noexcept = default;
AttentionJob& AttentionJob::operator=(AttentionJob&&) noexcept = default;
AttentionJob::~AttentionJob() = default;

absl::StatusOr<AttentionJob> AttentionJob::Create(const Scheme& scheme,
                                                  const AttentionInputs& inputs,
                                                  AttentionOptions options) {
  LOCUS_RETURN_IF_ERROR(CheckInputs(inputs));
  LOCUS_RETURN_IF_ERROR(CheckNumbers(options));
  AttentionJob job;
  AttentionProblem& problem = *job.problem_;
  problem.batch_count = inputs.q.extent(0);
  problem.query_head_count = inputs.q.extent(1);
  problem.key_head_count = inputs.k.extent(1);
  problem.query_count = inputs.q.extent(2);
  problem.key_count = inputs.k.extent(2);
  problem.dim = inputs.q.extent(3);
  problem.value_dim = inputs.v.extent(3);
  problem.inputs = inputs;
  problem.dtype = inputs.q.dtype;
  problem.wide_dtype =
      problem.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  problem.kernel_dtype = problem.wide_dtype;
  problem.causal = options.causal;
  problem.query_offset = options.bottom_right
                             ? problem.key_count - problem.query_count
                             : options.query_offset.value_or(0);
  problem.window = std::min(options.window, kMaxWindow);
  problem.scale =
      options.scale.value_or(1 / std::sqrt(static_cast<double>(problem.dim)));
  problem.softcap = options.softcap;
  problem.return_weights = options.return_weights;
  problem.return_log_sum_exp = options.return_log_sum_exp;
  if (options.mask) {
    LOCUS_ASSIGN_OR_RETURN(problem.mask, BroadcastMask(*options.mask, problem));
  }
  LOCUS_RETURN_IF_ERROR(ResolvePositions(scheme, options, problem));
  LOCUS_RETURN_IF_ERROR(scheme.RandomizePositions(&problem.query_positions,
                                                  &problem.key_positions));
  LOCUS_RETURN_IF_ERROR(ApplyScheme(scheme, problem));
  if (!OutputBytes(problem)) {
    return LimitExceeded("heads.q.shape", "max_message_bytes",
                         "makes the result larger than 2^63 bytes");
  }
  return job;
}

int64_t AttentionJob::output_bytes() const { return *OutputBytes(*problem_); }

int64_t AttentionJob::scratch_bytes(int thread_count) const {
  if (problem_->batch_count == 0 || problem_->query_count == 0) return 0;
  return ShouldSplitKv(*problem_) ? SplitKvScratchBytes(*problem_, thread_count)
                                  : TiledScratchBytes(*problem_, thread_count);
}

double AttentionJob::flops() const {
  if (problem_->batch_count == 0) return 0;
  double pairs = 0;
  if (problem_->causal || problem_->window > 0) {
    for (int64_t i = 0; i < problem_->query_count; ++i) {
      const KeyInterval visible = problem_->VisibleKeys(i);
      pairs += static_cast<double>(visible.end - visible.begin);
    }
  } else {
    pairs = static_cast<double>(problem_->query_count) *
            static_cast<double>(problem_->key_count);
  }
  return 2 * pairs * static_cast<double>(problem_->dim + problem_->value_dim) *
         static_cast<double>(problem_->batch_count) *
         static_cast<double>(problem_->query_head_count);
}

AttentionOutputs AttentionJob::AllocateOutputs() const {
  const AttentionProblem& p = *problem_;
  AttentionOutputs out;
  out.output = Tensor(
      p.dtype, {p.batch_count, p.query_head_count, p.query_count, p.value_dim});
  if (p.return_weights) {
    // The kernels do not write the weights of keys that are hidden from a whole
    // block of queries.
    out.weights = Tensor::Zeros(
        p.wide_dtype,
        {p.batch_count, p.query_head_count, p.query_count, p.key_count});
  }
  if (p.return_log_sum_exp) {
    out.log_sum_exp.emplace(
        p.wide_dtype, Shape{p.batch_count, p.query_head_count, p.query_count});
  }
  return out;
}

absl::StatusOr<AttentionOutputs> AttentionJob::Run(
    ThreadPool& pool, const CancellationCheck& stop) const {
  AttentionOutputs out = AllocateOutputs();
  if (out.output.element_count() == 0) return out;
  LOCUS_RETURN_IF_ERROR(ShouldSplitKv(*problem_)
                            ? AttendSplitKv(*problem_, pool, stop, out)
                            : AttendTiled(*problem_, pool, stop, out));
  return out;
}

AttentionOutputs AttentionJob::RunReference() const {
  AttentionOutputs out = AllocateOutputs();
  if (out.output.element_count() > 0) AttendReference(*problem_, out);
  return out;
}

}  // namespace locus
