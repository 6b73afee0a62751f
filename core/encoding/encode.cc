#include "core/encoding/encode.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/base/stopper.h"

namespace locus {
namespace {

// Rows computed between two looks at `stop`, and by one thread at a time.
constexpr int64_t kRowsPerStep = 16;

// Calls body(first, last) for consecutive pieces of [0, count) until all are
// done or `stop` says otherwise.
absl::Status ForRows(int64_t count, ThreadPool& pool, const StopCheck& stop,
                     const std::function<void(int64_t, int64_t)>& body) {
  Stopper stopper(stop);
  pool.ParallelFor((count + kRowsPerStep - 1) / kRowsPerStep,
                   [&](int64_t step) {
                     if (stopper.ShouldStop()) return;
                     const int64_t first = step * kRowsPerStep;
                     body(first, std::min(count, first + kRowsPerStep));
                   });
  return stopper.status();
}

// The rows of an input [..., T, width], any of them at a time.
struct Rows {
  const TensorView& input;
  Tensor& output;
  int64_t sequence_length;
  int64_t width;
  int64_t outer_count;  // the product of the leading axes

  Rows(const TensorView& in, Tensor& out)
      : input(in),
        output(out),
        sequence_length(in.extent(-2)),
        width(in.extent(-1)),
        outer_count(sequence_length * width == 0
                        ? 0
                        : in.element_count() / (sequence_length * width)) {}

  // Applies change(row) to row t of every leading index.
  template <typename Change>
  void Transform(int64_t t, std::vector<double>& row, Change change) {
    for (int64_t outer = 0; outer < outer_count; ++outer) {
      const int64_t element = (outer * sequence_length + t) * width;
      ReadRow(input.dtype, input.at(element), width, row.data());
      change(row.data());
      WriteRow(input.dtype, row.data(), width, output.at(element));
    }
  }
};

absl::Status RunAdditive(const AdditiveCode& code, const Positions& positions,
                         ThreadPool& pool, const StopCheck& stop, Tensor& table,
                         Rows* rows) {
  const int64_t dim = table.shape()[1];
  return ForRows(positions.size(), pool, stop, [&](int64_t t, int64_t last) {
    std::vector<double> code_row(dim);
    std::vector<double> row(dim);
    for (; t < last; ++t) {
      code.Row(positions[t], absl::MakeSpan(code_row));
      WriteRow(table.dtype(), code_row.data(), dim, table.at(t * dim));
      if (rows == nullptr) continue;
      rows->Transform(t, row, [&](double* values) {
        for (int64_t c = 0; c < dim; ++c) values[c] += code_row[c];
      });
    }
  });
}

absl::Status RunRotation(const Rotation& rotation, const Positions& positions,
                         ThreadPool& pool, const StopCheck& stop, Tensor& cos,
                         Tensor& sin, Rows* rows) {
  const int64_t pairs = rotation.pair_count();
  return ForRows(positions.size(), pool, stop, [&](int64_t t, int64_t last) {
    std::vector<double> cos_row(pairs);
    std::vector<double> sin_row(pairs);
    std::vector<double> row(rows == nullptr ? 0 : rows->width);
    for (; t < last; ++t) {
      rotation.Angles(positions[t], cos_row.data(), sin_row.data());
      WriteRow(cos.dtype(), cos_row.data(), pairs, cos.at(t * pairs));
      WriteRow(sin.dtype(), sin_row.data(), pairs, sin.at(t * pairs));
      if (rows == nullptr) continue;
      rows->Transform(t, row, [&](double* values) {
        rotation.Apply(cos_row.data(), sin_row.data(), values);
      });
    }
  });
}

// One row of a bias: a query of a head against all keys.
void BiasRow(const ScoreBias& bias, int64_t head, int64_t query_position,
             const Positions& key_positions, std::vector<double>& row) {
  for (int64_t j = 0; j < key_positions.size(); ++j) {
    const int64_t key_position = key_positions[j];
    row[j] = bias.is_causal() && key_position > query_position
                 ? -std::numeric_limits<double>::infinity()
                 : bias.At(head, query_position, key_position);
  }
}

absl::Status RunBias(const ScoreBias& bias, const Positions& positions,
                     const Positions& key_positions, ThreadPool& pool,
                     const StopCheck& stop, Tensor& table,
                     const TensorView* input, Tensor* output) {
  // Nothing to fill in; and only then can the extents be anything.
  if (table.element_count() == 0) return absl::OkStatus();
  const int64_t head_count = table.shape()[0];
  const int64_t query_count = positions.size();
  const int64_t key_count = key_positions.size();
  const int64_t row_count = head_count * query_count;
  const int64_t outer_count =
      input == nullptr ? 0 : input->element_count() / (row_count * key_count);
  return ForRows(row_count, pool, stop, [&](int64_t row, int64_t last) {
    std::vector<double> values(key_count);
    std::vector<double> scores(key_count);
    for (; row < last; ++row) {
      BiasRow(bias, row / query_count, positions[row % query_count],
              key_positions, values);
      WriteRow(table.dtype(), values.data(), key_count,
               table.at(row * key_count));
      for (int64_t outer = 0; outer < outer_count; ++outer) {
        const int64_t element = (outer * row_count + row) * key_count;
        ReadRow(input->dtype, input->at(element), key_count, scores.data());
        for (int64_t j = 0; j < key_count; ++j) scores[j] += values[j];
        WriteRow(input->dtype, scores.data(), key_count, output->at(element));
      }
    }
  });
}

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

}  // namespace

absl::StatusOr<EncodeJob> EncodeJob::Create(const Scheme& scheme,
                                            EncodeOptions options) {
  EncodeJob job;
  job.options_ = std::move(options);
  LOCUS_RETURN_IF_ERROR(job.ResolveDefaults(scheme));
  LOCUS_ASSIGN_OR_RETURN(
      job.compiled_,
      scheme.Compile({.dim = job.options_.dim,
                      .head_count = job.options_.head_count,
                      .max_position = std::max(job.positions_.max(),
                                               job.key_positions_.max())}));
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

  int64_t& size = on_scores ? options_.head_count : options_.dim;
  if (size == 0) size = on_scores ? scheme.head_count() : scheme.dim();
  if (size == 0 && input != nullptr) size = input->extent(on_scores ? -3 : -1);
  const bool sized = scheme.site() != Site::kNowhere;
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
  if (options_.dim == 0) return absl::OkStatus();  // acts nowhere
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
  // Three rows in double for each thread.
  const int64_t width = std::max(options_.dim, key_positions_.size());
  return CheckedProduct({3, thread_count, width, sizeof(double)})
      .value_or(std::numeric_limits<int64_t>::max());
}

absl::StatusOr<Encoding> EncodeJob::Run(ThreadPool& pool,
                                        const StopCheck& stop) const {
  Encoding encoding;
  const TensorView* input = options_.input ? &*options_.input : nullptr;
  Tensor* output = nullptr;
  std::optional<Rows> rows;
  if (input != nullptr) {
    output = &encoding.output.emplace(input->dtype, input->shape);
    rows.emplace(*input, *output);
  }
  Rows* const row_pointer = rows ? &*rows : nullptr;
  const int64_t count = positions_.size();

  if (const auto* code =
          std::get_if<std::unique_ptr<AdditiveCode>>(&compiled_)) {
    AdditiveEncoding numbers{Tensor(options_.dtype, {count, options_.dim})};
    LOCUS_RETURN_IF_ERROR(RunAdditive(**code, positions_, pool, stop,
                                      numbers.table, row_pointer));
    encoding.numbers = std::move(numbers);
  } else if (const auto* rotation = std::get_if<Rotation>(&compiled_)) {
    const Shape shape = {count, rotation->pair_count()};
    RotationEncoding numbers{Tensor(options_.dtype, shape),
                             Tensor(options_.dtype, shape),
                             rotation->frequencies, rotation->attention_factor};
    LOCUS_RETURN_IF_ERROR(RunRotation(*rotation, positions_, pool, stop,
                                      numbers.cos, numbers.sin, row_pointer));
    encoding.numbers = std::move(numbers);
  } else if (const auto* bias =
                 std::get_if<std::unique_ptr<ScoreBias>>(&compiled_)) {
    BiasEncoding numbers{Tensor(options_.dtype, {options_.head_count, count,
                                                 key_positions_.size()}),
                         (*bias)->slopes()};
    LOCUS_RETURN_IF_ERROR(RunBias(**bias, positions_, key_positions_, pool,
                                  stop, numbers.bias, input, output));
    encoding.numbers = std::move(numbers);
  } else if (input != nullptr) {
    std::copy_n(input->data, input->element_count() * SizeOf(input->dtype),
                output->at(0));
  }
  return encoding;
}

}  // namespace locus
