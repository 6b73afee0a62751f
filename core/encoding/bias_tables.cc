// Biases by offset.
//
// A bias that depends on the offset of two positions alone has as many values
// as there are offsets, not as there are pairs of positions. They are computed
// once; if queries and keys stand in ranges, a row of the table is a slice of
// them, and the next query's row is the slice one before.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "core/simd/aligned_buffer.h"
#include "core/base/shape.h"
#include "core/parallel/stopper.h"
#include "core/encoding/apply.h"
#include "core/encoding/tables.h"

namespace locus {
namespace {

// About as much is written between two looks at `stop`, and by one thread at a
// time.
constexpr int64_t kBytesPerStep = int64_t{1} << 18;
// Lists of ids may leave out so many positions for each that they hold.
constexpr int64_t kSparsity = 32;
// Rows shorter than this are written through the cache: to write past it means
// to wait at the end of each.
constexpr int64_t kLongRowBytes = 4096;

// The distances from queries to keys, key less query, that a call can have.
// None if they are far more than the positions.
std::optional<OffsetRange> OffsetsOf(const Positions& queries,
                                     const Positions& keys) {
  const int64_t most = std::max(queries.size(), keys.size());
  return OffsetsBetween(queries, keys,
                        CheckedMul(most, kSparsity)
                            .value_or(std::numeric_limits<int64_t>::max()));
}

// What the table shows for keys that a query does not see.
constexpr double kHidden = -std::numeric_limits<double>::infinity();

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
    Stopper stopper(call_.stop);
    if (offsets_) {
      by_offset_ = AlignedBuffer<double>(head_count_ * offsets_->count);
      call_.pool.ParallelFor(head_count_, [&](int64_t head) {
        if (!stopper.ShouldStop()) ComputeOffsets(head);
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
        1, kBytesPerStep / (key_count_ * SizeOf(table_.dtype())));
    call_.pool.ParallelFor((rows - 1) / rows_per_step + 1, [&](int64_t step) {
      if (stopper.ShouldStop()) return;
      const int64_t first = step * rows_per_step;
      const int64_t last = std::min(rows, first + rows_per_step);
      sliced ? CopySlices(first, last) : ComputeRows(first, last);
    });
    return stopper.status();
  }

 private:
  // by_offset[head, n] is the bias of a key lowest + n after its query.
  void ComputeOffsets(int64_t head) {
    double* const values = by_offset_.get() + head * offsets_->count;
    for (int64_t n = 0; n < offsets_->count; ++n) {
      const int64_t after = offsets_->lowest + n;
      values[n] = bias_.is_causal() && after > 0
                      ? kHidden
                      : bias_.At(head, std::max<int64_t>(-after, 0),
                                 std::max<int64_t>(after, 0));
    }
  }

  // Where the bias of key position `key` stands for a row of the table.
  int64_t IndexOf(int64_t row, int64_t key) const {
    return row / query_count_ * offsets_->count + key -
           call_.positions[row % query_count_] - offsets_->lowest;
  }

  Writes WritesOfRows(int64_t element_count, DType dtype) const {
    return key_count_ * SizeOf(dtype) < kLongRowBytes
               ? Writes::kThroughCache
               : WritesFor(element_count * SizeOf(dtype));
  }

  void CopySlices(int64_t row, int64_t last) {
    const DType dtype = table_.dtype();
    const Writes writes = WritesOfRows(table_.element_count(), dtype);
    std::vector<double> scores(call_.input == nullptr ? 0 : key_count_);
    for (; row < last; ++row) {
      const int64_t slice = IndexOf(row, keys_[0]);
      Copy(stored_->at(slice), key_count_ * SizeOf(dtype),
           table_.at(row * key_count_), writes);
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
      if (keys_[j] > query) values[j] = kHidden;
    }
  }

  // Calls body(element) for where a row begins under every leading index of
  // the scores.
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
    const Writes writes =
        WritesOfRows(call_.input->element_count(), call_.input->dtype);
    ForScores(row, [&](int64_t element) {
      Add(call_.input->at(element), values, key_count_,
          call_.output->at(element), writes);
    });
  }

  // The same for any type, through a row of doubles.
  void AddToScores(int64_t row, const double* values,
                   std::vector<double>& scores) const {
    const DType dtype = call_.input->dtype;
    ForScores(row, [&](int64_t element) {
      ReadRow(dtype, call_.input->at(element), key_count_, scores.data());
      Add(scores.data(), values, key_count_, scores.data(),
          Writes::kThroughCache);
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
  std::optional<Tensor> stored_;     // the same as the table stores it
};

}  // namespace

absl::Status FillBias(const FillCall& call, const ScoreBias& bias,
                      const Positions& key_positions, Tensor& table) {
  // Nothing to fill in; and only then can the extents be anything.
  if (table.element_count() == 0) return absl::OkStatus();
  return BiasFiller(call, bias, key_positions, table).Run();
}

int64_t BiasScratchBytes(int64_t head_count, const Positions& positions,
                         const Positions& key_positions, int thread_count) {
  const auto offsets = OffsetsOf(positions, key_positions);
  // Two rows on each thread; each offset as it is computed and as it is stored.
  const auto rows = CheckedProduct({2, thread_count, key_positions.size()});
  const auto table =
      CheckedProduct({2, head_count, offsets ? offsets->count : 0});
  const auto numbers = rows && table ? CheckedAdd(*rows, *table) : std::nullopt;
  const auto bytes =
      numbers ? CheckedMul(*numbers, sizeof(double)) : std::nullopt;
  return bytes.value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace locus
