// Tables of score biases.
//
// A bias that depends on the offset of two positions alone has one value per
// offset, not one per pair of positions. The values are computed once. If
// queries and keys are ranges, each row of the table is a slice of them, and
// the row of the next query is the slice that begins one element earlier.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/shape.h"
#include "core/encoding/apply.h"
#include "core/encoding/tables.h"
#include "core/parallel/cancellation.h"
#include "core/simd/aligned_buffer.h"

namespace locus {
namespace {

// Approximate size of one parallel work item. Cancellation is checked before
// each item.
constexpr int64_t kBiasBytesPerStep = int64_t{1} << 18;
// Max ratio of offsets to positions for which values are computed by offset.
constexpr int64_t kMaxSparsity = 32;
// Min size of a row that is written with streaming stores, which need a fence
// at the end of each row.
constexpr int64_t kMinStreamingRowBytes = 4096;

// The offsets (key minus query) of a call. nullopt if there are far more
// offsets than positions.
std::optional<OffsetRange> OffsetsOf(const Positions& queries,
                                     const Positions& keys) {
  const int64_t position_count = std::max(queries.size(), keys.size());
  return OffsetsBetween(queries, keys,
                        CheckedMul(position_count, kMaxSparsity)
                            .value_or(std::numeric_limits<int64_t>::max()));
}

// Bias of keys that are masked because they follow their query.
constexpr double kMasked = -std::numeric_limits<double>::infinity();

// Fills one bias table and adds it to the input.
class BiasFiller {
 public:
  BiasFiller(const FillCall& call, const ScoreBias& bias,
             const Positions& key_positions, Tensor& table)
      : call_(call),
        bias_(bias),
        keys_(key_positions),
        table_(table),
        head_count_(table.shape()[0]),
        query_count_(call.positions.size()),
        key_count_(key_positions.size()) {
    if (!bias.depends_on_offset_alone()) return;
    offsets_ = OffsetsOf(call.positions, key_positions);
  }

  absl::Status Run() {
    CancellationState cancellation(call_.stop);
    if (offsets_) {
      by_offset_ = AlignedBuffer<double>(head_count_ * offsets_->count);
      call_.pool.ParallelFor(head_count_, [&](int64_t head) {
        if (!cancellation.ShouldStop()) ComputeOffsets(head);
      });
    }
    const bool sliced =
        offsets_ && call_.positions.is_range() && keys_.is_range();
    if (sliced) {
      stored_.emplace(table_.dtype(), Shape{head_count_, offsets_->count});
      WriteRow(table_.dtype(), by_offset_.get(), stored_->element_count(),
               stored_->at(0));
    }
    const int64_t rows = head_count_ * query_count_;
    const int64_t rows_per_step = std::max<int64_t>(
        1, kBiasBytesPerStep / (key_count_ * SizeOf(table_.dtype())));
    call_.pool.ParallelFor((rows - 1) / rows_per_step + 1, [&](int64_t step) {
      if (cancellation.ShouldStop()) return;
      const int64_t first = step * rows_per_step;
      const int64_t last = std::min(rows, first + rows_per_step);
      sliced ? CopySlices(first, last) : ComputeRows(first, last);
    });
    return cancellation.status();
  }

 private:
  // Computes by_offset[head, n], the bias of a key at query + lowest + n.
  void ComputeOffsets(int64_t head) {
    double* const values = by_offset_.get() + head * offsets_->count;
    for (int64_t n = 0; n < offsets_->count; ++n) {
      const int64_t after = offsets_->lowest + n;
      values[n] = bias_.is_causal() && after > 0
                      ? kMasked
                      : bias_.At(head, std::max<int64_t>(-after, 0),
                                 std::max<int64_t>(after, 0));
    }
  }

  // Index into by_offset of the bias of key position `key` in a row of the
  // table.
  int64_t IndexOf(int64_t row, int64_t key) const {
    return row / query_count_ * offsets_->count + key -
           call_.positions[row % query_count_] - offsets_->lowest;
  }

  // Store policy for the rows of a tensor of that size.
  StorePolicy RowStorePolicy(int64_t element_count, DType dtype) const {
    return key_count_ * SizeOf(dtype) < kMinStreamingRowBytes
               ? StorePolicy::kCached
               : StorePolicyFor(element_count * SizeOf(dtype));
  }

  // Writes the rows row .. last - 1 as slices of by_offset.
  void CopySlices(int64_t row, int64_t last) {
    const DType dtype = table_.dtype();
    const StorePolicy store_policy =
        RowStorePolicy(table_.element_count(), dtype);
    std::vector<double> scores(call_.input == nullptr ? 0 : key_count_);
    for (; row < last; ++row) {
      const int64_t slice = IndexOf(row, keys_[0]);
      Copy(stored_->at(slice), key_count_ * SizeOf(dtype),
           table_.at(row * key_count_), store_policy);
      if (call_.input == nullptr) continue;
      if (dtype == DType::kFloat32 && call_.input->dtype == dtype) {
        AddToScores(row, reinterpret_cast<const float*>(stored_->at(slice)));
      } else if (call_.input->dtype == DType::kFloat64) {
        AddToScores(row, by_offset_.get() + slice);
      } else {
        AddToScores(row, by_offset_.get() + slice, scores);
      }
    }
  }

  // Writes the rows row .. last - 1 where they are not slices of by_offset.
  void ComputeRows(int64_t row, int64_t last) {
    std::vector<double> values(key_count_);
    std::vector<double> scores(call_.input == nullptr ? 0 : key_count_);
    for (; row < last; ++row) {
      ComputeRow(row, values.data());
      WriteRow(table_.dtype(), values.data(), key_count_,
               table_.at(row * key_count_));
      if (call_.input != nullptr) AddToScores(row, values.data(), scores);
    }
  }

  void ComputeRow(int64_t row, double* values) const {
    if (offsets_) {
      for (int64_t j = 0; j < key_count_; ++j) {
        values[j] = by_offset_.get()[IndexOf(row, keys_[j])];
      }
      return;
    }
    const int64_t query = call_.positions[row % query_count_];
    bias_.Row(row / query_count_, query, keys_, 0, key_count_, values);
    if (!bias_.is_causal()) return;
    for (int64_t j = 0; j < key_count_; ++j) {
      if (keys_[j] > query) values[j] = kMasked;
    }
  }

  // Calls body(element) with the first element of a row, for every leading
  // index of the scores.
  template <typename Body>
  void ForScores(int64_t row, const Body& body) const {
    for (int64_t start = 0; start < call_.input->element_count();
         start += table_.element_count()) {
      body(start + row * key_count_);
    }
  }

  // Adds a row of biases to scores of the same type.
  template <typename T>
  void AddToScores(int64_t row, const T* values) const {
    const StorePolicy store_policy =
        RowStorePolicy(call_.input->element_count(), call_.input->dtype);
    ForScores(row, [&](int64_t element) {
      Add(call_.input->at(element), values, key_count_,
          call_.output->at(element), store_policy);
    });
  }

  // Adds a row of biases to scores of any type, which are converted to double
  // in `scores` first.
  void AddToScores(int64_t row, const double* values,
                   std::vector<double>& scores) const {
    const DType dtype = call_.input->dtype;
    ForScores(row, [&](int64_t element) {
      ReadRow(dtype, call_.input->at(element), key_count_, scores.data());
      Add(scores.data(), values, key_count_, scores.data(),
          StorePolicy::kCached);
      WriteRow(dtype, scores.data(), key_count_, call_.output->at(element));
    });
  }

  const FillCall& call_;
  const ScoreBias& bias_;
  const Positions& keys_;
  Tensor& table_;
  const int64_t head_count_;
  const int64_t query_count_;
  const int64_t key_count_;
  std::optional<OffsetRange> offsets_;
  AlignedBuffer<double> by_offset_;  // [H, offsets]
  std::optional<Tensor> stored_;     // by_offset_ in the type of the table
};

}  // namespace

absl::Status FillBias(const FillCall& call, const ScoreBias& bias,
                      const Positions& key_positions, Tensor& table) {
  // An empty table may have extents of any size: do not loop over them.
  if (table.element_count() == 0) return absl::OkStatus();
  return BiasFiller(call, bias, key_positions, table).Run();
}

int64_t BiasScratchBytes(int64_t head_count, const Positions& positions,
                         const Positions& key_positions, int thread_count) {
  const auto offsets = OffsetsOf(positions, key_positions);
  // Two rows per thread, and two copies of the values by offset: as computed
  // and as stored.
  const auto rows = CheckedProduct({2, thread_count, key_positions.size()});
  const auto table =
      CheckedProduct({2, head_count, offsets ? offsets->count : 0});
  const auto numbers = rows && table ? CheckedAdd(*rows, *table) : std::nullopt;
  const auto bytes =
      numbers ? CheckedMul(*numbers, sizeof(double)) : std::nullopt;
  return bytes.value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace locus
