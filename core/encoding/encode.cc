#include "core/encoding/encode.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/tables.h"
#include "core/simd/streaming_stores.h"

namespace locus {
namespace {

absl::Status CheckExtent(absl::string_view axis, int64_t expected,
                         int64_t actual, const Shape& shape) {
  if (expected == actual) return absl::OkStatus();
  return InvalidField("input.shape",
                      absl::StrCat("is ", ToString(shape), "; its ", axis,
                                   " must be ", expected));
}

Positions FirstPositions(int64_t count) {
  return *Positions::Range(0, count);  // an extent is never negative
}

// Reallocates a tensor unless it already has that type and shape.
void Reallocate(DType dtype, Shape shape, Tensor& tensor) {
  const bool has_bytes =
      tensor.view().data != nullptr || tensor.byte_count() == 0;
  if (tensor.dtype() == dtype && tensor.shape() == shape && has_bytes) return;
  tensor.TakeBytes();  // frees the old memory before the new is allocated
  tensor = Tensor(dtype, std::move(shape));
}

// Bound of a rotation's growth factors, which the tables hold and the input is
// multiplied by.
double MaxExponent(const EncodeOptions& options) {
  const bool input_is_single =
      options.input && options.input->dtype != DType::kFloat64;
  if (options.dtype == DType::kFloat64 && !input_is_single) {
    return kDoubleExponent;
  }
  return options.input ? kSingleInputExponent : kSingleTableExponent;
}

absl::Status CheckLengths(const EncodeOptions& options) {
  constexpr double kMaxLength = 0x1p53;
  const auto sequence = static_cast<double>(options.sequence_length);
  if (!(sequence >= 0 && sequence <= kMaxLength)) {
    return InvalidField("sequence_length",
                        absl::StrCat("is ", options.sequence_length,
                                     "; must be from 0 to 2^53"));
  }
  const auto trained = static_cast<double>(options.trained_length);
  if (!(trained >= 0 && trained <= kMaxLength)) {
    return InvalidField("trained_length",
                        absl::StrCat("is ", options.trained_length,
                                     "; must be from 0 to 2^53"));
  }
  if (!(options.target_length >= 0 && options.target_length <= kMaxLength)) {
    return InvalidField(
        "target_length",
        absl::StrCat("is ", options.target_length, "; must be from 0 to 2^53"));
  }
  return absl::OkStatus();
}

// The numbers of an earlier result if they are of the same kind; otherwise new
// ones.
template <typename Numbers>
Numbers& GetOrEmplace(Encoding& encoding) {
  auto* const kept = std::get_if<Numbers>(&encoding.numbers);
  return kept != nullptr ? *kept : encoding.numbers.emplace<Numbers>();
}

}  // namespace

absl::StatusOr<EncodeJob> EncodeJob::Create(const Scheme& scheme,
                                            EncodeOptions options) {
  EncodeJob job;
  job.options_ = std::move(options);
  LOCUS_RETURN_IF_ERROR(CheckLengths(job.options_));
  LOCUS_RETURN_IF_ERROR(job.ResolveDefaults(scheme));
  LOCUS_RETURN_IF_ERROR(scheme.RandomizePositions(
      {&job.positions_, &job.key_positions_, &job.sequence_}));
  const bool is_page = job.sequence_.size() > 0;
  const Positions& queries = is_page ? job.sequence_ : job.positions_;
  const Positions& keys = is_page ? job.sequence_ : job.key_positions_;
  LOCUS_ASSIGN_OR_RETURN(
      job.compiled_,
      scheme.Compile({.dim = job.options_.dim,
                      .head_count = job.options_.head_count,
                      .max_position = std::max(queries.max(), keys.max()),
                      .min_position = SmallestOf(queries, keys),
                      .trained_length = job.options_.trained_length,
                      .target_length = job.options_.target_length,
                      .max_exponent = MaxExponent(job.options_)}));
  if (auto* rotation = std::get_if<Rotation>(&job.compiled_);
      rotation != nullptr && job.options_.of_keys) {
    *rotation = rotation->OfKeys();
  }
  LOCUS_RETURN_IF_ERROR(job.CheckInput());
  LOCUS_RETURN_IF_ERROR(job.ComputeSizes());
  return job;
}

absl::Status EncodeJob::ResolveDefaults(const Scheme& scheme) {
  const bool on_scores = scheme.site() == Site::kScores;
  const TensorView* input = options_.input ? &*options_.input : nullptr;
  const int64_t min_rank = on_scores ? 3 : 2;
  if (options_.dim < 0) {
    return InvalidField(
        "dim", absl::StrCat("is ", options_.dim, "; must not be negative"));
  }
  if (options_.head_count < 0) {
    return InvalidField("head_count", absl::StrCat("is ", options_.head_count,
                                                   "; must not be negative"));
  }
  if (input != nullptr && input->rank() < min_rank) {
    return InvalidField(
        "input.shape", absl::StrCat("is ", ToString(input->shape), "; must be ",
                                    on_scores ? "[..., heads, queries, keys]"
                                              : "[..., sequence, dim]"));
  }
  if (input != nullptr && !IsFloatingPoint(input->dtype)) {
    return InvalidField(
        "input.dtype",
        absl::StrCat("is ", NameOf(input->dtype), "; must be floating point"));
  }
  if (!IsFloatingPoint(options_.dtype)) {
    return InvalidField("dtype", absl::StrCat("is ", NameOf(options_.dtype),
                                              "; must be floating point"));
  }
  const bool given = options_.positions.has_value();
  if (given) {
    positions_ = *std::move(options_.positions);
  } else if (input != nullptr) {
    positions_ = FirstPositions(input->extent(-2));
  } else {
    return InvalidField("positions",
                        "is not set; give a range or ids, or an input");
  }
  if (!on_scores && options_.key_positions) {
    return InvalidField(
        "key_positions",
        absl::StrCat("is set; ", scheme.name(), " does not act on scores"));
  }
  if (options_.key_positions) {
    key_positions_ = *std::move(options_.key_positions);
  } else if (on_scores) {
    key_positions_ = given ? positions_ : FirstPositions(input->extent(-1));
  }

  const int64_t last = std::max(positions_.max(), key_positions_.max());
  if (options_.sequence_length > 0 && options_.sequence_length <= last) {
    return InvalidField(
        "sequence_length",
        absl::StrCat("is ", options_.sequence_length, "; must be more than ",
                     last, ", the largest position"));
  }
  sequence_ = FirstPositions(options_.sequence_length);

  int64_t& size = on_scores ? options_.head_count : options_.dim;
  if (size == 0) size = on_scores ? scheme.head_count() : scheme.dim();
  if (size == 0 && input != nullptr) size = input->extent(on_scores ? -3 : -1);
  const bool sized = scheme.site() != Site::kNone;
  if (sized && size < 1) {
    return InvalidField(on_scores ? "head_count" : "dim",
                        absl::StrCat("is ", size, "; must be at least 1"));
  }
  return absl::OkStatus();
}

absl::Status EncodeJob::CheckInput() const {
  if (!options_.input) return absl::OkStatus();
  const Shape& shape = options_.input->shape;
  const int64_t rows = shape[shape.size() - 2];
  const int64_t columns = shape[shape.size() - 1];
  LOCUS_RETURN_IF_ERROR(
      CheckExtent("last axis but one", positions_.size(), rows, shape));
  if (std::holds_alternative<std::unique_ptr<ScoreBias>>(compiled_)) {
    LOCUS_RETURN_IF_ERROR(CheckExtent("last axis but two", options_.head_count,
                                      shape[shape.size() - 3], shape));
    return CheckExtent("last axis", key_positions_.size(), columns, shape);
  }
  if (options_.dim == 0) return absl::OkStatus();  // the scheme does nothing
  return CheckExtent("last axis", options_.dim, columns, shape);
}

absl::Status EncodeJob::ComputeSizes() {
  std::optional<int64_t> elements = 0;
  const int64_t count = positions_.size();
  if (std::holds_alternative<std::unique_ptr<AdditiveCode>>(compiled_)) {
    elements = CheckedProduct({count, options_.dim});
  } else if (const auto* rotation = std::get_if<Rotation>(&compiled_)) {
    elements = CheckedProduct({count, rotation->pair_count(), 2});
  } else if (std::holds_alternative<std::unique_ptr<ScoreBias>>(compiled_)) {
    elements =
        CheckedProduct({options_.head_count, count, key_positions_.size()});
  }
  std::optional<int64_t> bytes =
      elements ? CheckedMul(*elements, SizeOf(options_.dtype)) : std::nullopt;
  if (bytes && options_.input) {
    bytes = CheckedAdd(*bytes, options_.input->element_count() *
                                   SizeOf(options_.input->dtype));
  }
  if (!bytes) {
    return LimitExceeded("positions", "max_message_bytes",
                         absl::StrCat("count ", count,
                                      " makes a result of more than 2^63 "
                                      "bytes"));
  }
  output_bytes_ = *bytes;
  return absl::OkStatus();
}

int64_t EncodeJob::scratch_bytes(int thread_count) const {
  if (std::holds_alternative<std::unique_ptr<ScoreBias>>(compiled_)) {
    return BiasScratchBytes(options_.head_count, positions_, key_positions_,
                            thread_count);
  }
  return thread_count * CodeScratchBytes(options_.dim);
}

double EncodeJob::flops() const {
  constexpr double kFlopsPerElement = 4;
  return kFlopsPerElement * static_cast<double>(output_bytes_) /
         static_cast<double>(SizeOf(options_.dtype));
}

absl::StatusOr<Encoding> EncodeJob::Run(ThreadPool& pool,
                                        const CancellationCheck& stop) const {
  Encoding encoding;
  LOCUS_RETURN_IF_ERROR(RunAgain(pool, stop, encoding));
  return encoding;
}

absl::Status EncodeJob::RunAgain(ThreadPool& pool,
                                 const CancellationCheck& stop,
                                 Encoding& encoding) const {
  FillCall call{positions_, pool, stop};
  if (options_.input) {
    call.input = &*options_.input;
    if (!encoding.output) encoding.output.emplace();
    Reallocate(call.input->dtype, call.input->shape, *encoding.output);
    call.output = &*encoding.output;
  } else {
    encoding.output.reset();
  }
  const int64_t count = positions_.size();

  if (const auto* code =
          std::get_if<std::unique_ptr<AdditiveCode>>(&compiled_)) {
    auto& numbers = GetOrEmplace<AdditiveEncoding>(encoding);
    Reallocate(options_.dtype, {count, options_.dim}, numbers.table);
    numbers.frequencies = (*code)->frequencies();
    numbers.table_length = (*code)->table_length();
    numbers.policy = std::string((*code)->policy());
    return FillCode(call, **code, numbers.table);
  }
  if (const auto* rotation = std::get_if<Rotation>(&compiled_)) {
    auto& numbers = GetOrEmplace<RotationEncoding>(encoding);
    Reallocate(options_.dtype, {count, rotation->pair_count()}, numbers.cos);
    Reallocate(options_.dtype, {count, rotation->pair_count()}, numbers.sin);
    numbers.frequencies = rotation->frequencies;
    numbers.attention_factor = rotation->attention_factor;
    numbers.origin = rotation->origin;
    numbers.decays.clear();
    for (const double growth : rotation->growth) {
      numbers.decays.push_back(std::exp(-std::abs(growth)));
    }
    return FillRotation(call, *rotation, numbers.cos, numbers.sin);
  }
  if (const auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(&compiled_)) {
    auto& numbers = GetOrEmplace<BiasEncoding>(encoding);
    Reallocate(options_.dtype,
               {options_.head_count, count, key_positions_.size()},
               numbers.bias);
    numbers.slopes = (*bias)->slopes();
    numbers.bucket_edges = (*bias)->bucket_edges();
    numbers.head_numbers = (*bias)->head_numbers();
    return FillBias(call, **bias, key_positions_, numbers.bias);
  }
  encoding.numbers = std::monostate();
  if (call.input != nullptr) {
    const int64_t bytes =
        call.input->element_count() * SizeOf(call.input->dtype);
    Copy(call.input->data, bytes, call.output->at(0), StorePolicyFor(bytes));
  }
  return absl::OkStatus();
}

}  // namespace locus
