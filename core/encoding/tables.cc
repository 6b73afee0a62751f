#include "core/encoding/tables.h"

#include <algorithm>
#include <functional>

#include "core/encoding/angles/angles.h"
#include "core/encoding/apply.h"
#include "core/parallel/cancellation.h"
#include "core/simd/aligned_buffer.h"

namespace locus {
namespace {

// Approximate size of one parallel work item. Cancellation is checked before
// each item.
constexpr int64_t kTableBytesPerStep = int64_t{1} << 18;
// Max elements of a block of rows, so that it stays in the cache. A block is a
// whole run of kRestartInterval positions unless rows are very long.
constexpr int64_t kMaxBlockElements = int64_t{1} << 18;

int64_t RowsPerBlock(int64_t width) {
  int64_t rows = kRestartInterval;
  while (rows > 1 && rows * width > kMaxBlockElements) rows /= 2;
  return rows;
}

// Whether a table is only written: it is not read again to be converted or to
// be applied to an input.
bool IsWrittenOnly(const FillCall& call, DType stored) {
  return call.input == nullptr &&
         (stored == DType::kFloat32 || stored == DType::kFloat64);
}

// Rows of a block. A table that is only written need not stay in the cache;
// longer blocks then reduce the setup cost per block.
int64_t RowsPerBlock(const FillCall& call, int64_t width, DType stored) {
  constexpr int64_t kRunsPerBlock = 4;
  const int64_t rows = RowsPerBlock(width);
  return IsWrittenOnly(call, stored) ? kRunsPerBlock * rows : rows;
}

// Calls body(first, last) for consecutive blocks of positions, in parallel,
// until all are done or the call is cancelled. Ranges are divided at multiples
// of the block size, where runs of angles restart (see kRestartInterval).
absl::Status ForBlocks(const FillCall& call, int64_t rows_per_block,
                       int64_t bytes_per_row,
                       const std::function<void(int64_t, int64_t)>& body) {
  const int64_t count = call.positions.size();
  if (count == 0) return absl::OkStatus();
  const int64_t before =
      call.positions.is_range() ? call.positions[0] % rows_per_block : 0;
  const int64_t bytes_per_block = std::max<int64_t>(
      1, rows_per_block * std::min(bytes_per_row, kTableBytesPerStep));
  const int64_t rows_per_step =
      rows_per_block *
      std::max<int64_t>(1, kTableBytesPerStep / bytes_per_block);
  CancellationState cancellation(call.stop);
  call.pool.ParallelFor(
      (before + count - 1) / rows_per_step + 1, [&](int64_t step) {
        if (cancellation.ShouldStop()) return;
        int64_t first = step * rows_per_step - before;
        const int64_t last = std::min(count, first + rows_per_step);
        for (; first < last; first += rows_per_block) {
          body(std::max<int64_t>(first, 0),
               std::min(last, first + rows_per_block));
        }
      });
  return cancellation.status();
}

// Calls body(T()) with the type T in which tensors of `dtype` are computed.
template <typename Body>
auto InTypeFor(DType dtype, const Body& body) {
  return dtype == DType::kFloat64 ? body(double()) : body(float());
}

template <typename T>
bool IsStoredAs(DType dtype) {
  return dtype ==
         (sizeof(T) == sizeof(float) ? DType::kFloat32 : DType::kFloat64);
}

// A buffer that is allocated on first use.
template <typename T>
class Scratch {
 public:
  T* Get(int64_t count) {
    if (buffer_.get() == nullptr) buffer_ = AlignedBuffer<T>(count);
    return buffer_.get();
  }

 private:
  AlignedBuffer<T> buffer_;
};

// Rows of a table to be computed as T: in place if the table stores T,
// otherwise in a temporary buffer that Finish() converts.
template <typename T>
class TableRows {
 public:
  TableRows(Tensor& table, int64_t element, int64_t count)
      : dtype_(table.dtype()), target_(table.at(element)), count_(count) {
    rows_ = IsStoredAs<T>(dtype_) ? reinterpret_cast<T*>(target_)
                                  : scratch_.Get(count);
  }
  T* get() const { return rows_; }
  void Finish() const {
    if (!IsStoredAs<T>(dtype_)) WriteRow(dtype_, rows_, count_, target_);
  }

 private:
  const DType dtype_;
  char* const target_;
  const int64_t count_;
  Scratch<T> scratch_;
  T* rows_;
};

// Applies change(from, to, store_policy) to the `count` elements of the input
// from `element` on: directly if they are of type T, otherwise on a converted
// copy.
template <typename T, typename Change>
void ChangeElements(const FillCall& call, int64_t element, int64_t count,
                    Scratch<T>& scratch, const Change& change) {
  const DType dtype = call.input->dtype;
  const char* const from = call.input->at(element);
  char* const to = call.output->at(element);
  if (IsStoredAs<T>(dtype)) {
    const int64_t all = call.input->element_count() * SizeOf(dtype);
    return change(from, to, StorePolicyFor(all));
  }
  T* const copy = scratch.Get(count);
  ReadRow(dtype, from, count, copy);
  change(copy, copy, StorePolicy::kCached);
  WriteRow(dtype, copy, count, to);
}

// Applies change(from, to, store_policy) to the `count` rows from position
// `first` on, for every leading index of an input [..., T, width].
template <typename T, typename Change>
void ChangeRows(const FillCall& call, int64_t first, int64_t count,
                const Change& change) {
  const int64_t width = call.input->extent(-1);
  const int64_t matrix = call.positions.size() * width;
  if (matrix == 0) return;
  Scratch<T> scratch;
  for (int64_t start = 0; start < call.input->element_count();
       start += matrix) {
    ChangeElements(call, start + first * width, count * width, scratch, change);
  }
}

// Bytes written per position: a row of the table, and a row of the output for
// every leading index of the input.
int64_t BytesPerRow(const FillCall& call, int64_t table_bytes) {
  if (call.input == nullptr) return table_bytes;
  return table_bytes + call.input->element_count() /
                           std::max<int64_t>(1, call.positions.size()) *
                           SizeOf(call.input->dtype);
}

// Store policy of a table: one that is read again stays in the cache.
StorePolicy TableStorePolicy(const FillCall& call, const Tensor& table) {
  return IsWrittenOnly(call, table.dtype())
             ? StorePolicyFor(table.element_count() * SizeOf(table.dtype()))
             : StorePolicy::kCached;
}

}  // namespace

absl::Status FillCode(const FillCall& call, const AdditiveCode& code,
                      Tensor& table) {
  const int64_t dim = table.shape()[1];
  const StorePolicy table_policy = TableStorePolicy(call, table);
  const auto add = [&](int64_t first, int64_t count, const auto* rows) {
    using T = std::remove_cvref_t<decltype(*rows)>;
    ChangeRows<T>(call, first, count,
                  [&](const void* from, void* to, StorePolicy input_policy) {
                    Add(from, rows, count * dim, to, input_policy);
                  });
  };
  return ForBlocks(call, RowsPerBlock(call, dim, table.dtype()),
                   BytesPerRow(call, dim * SizeOf(table.dtype())),
                   [&](int64_t first, int64_t last) {
                     const int64_t count = last - first;
                     const auto compute = [&](auto* rows, StorePolicy how) {
                       code.Rows(call.positions, first, count,
                                 absl::MakeSpan(rows, count * dim), how);
                     };
                     InTypeFor(table.dtype(), [&](auto type) {
                       using T = decltype(type);
                       const TableRows<T> rows(table, first * dim, count * dim);
                       compute(rows.get(), table_policy);
                       rows.Finish();
                       if (call.input == nullptr) return;
                       InTypeFor(call.input->dtype, [&](auto input_type) {
                         using U = decltype(input_type);
                         if constexpr (std::is_same_v<T, U>) {
                           add(first, count, rows.get());
                         } else {
                           const AlignedBuffer<U> again(count * dim);
                           compute(again.get(), StorePolicy::kCached);
                           add(first, count, again.get());
                         }
                       });
                     });
                   });
}

absl::Status FillRotation(const FillCall& call, const Rotation& rotation,
                          Tensor& cos, Tensor& sin) {
  const int64_t pairs = rotation.pair_count();
  const StorePolicy table_policy = TableStorePolicy(call, cos);
  const auto rotate = [&](int64_t first, int64_t count, const auto* cos_rows,
                          const auto* sin_rows) {
    using T = std::remove_cvref_t<decltype(*cos_rows)>;
    ChangeRows<T>(call, first, count,
                  [&](const void* from, void* to, StorePolicy input_policy) {
                    RotateRows<T>({.rows = count,
                                   .width = call.input->extent(-1),
                                   .pairs = pairs,
                                   .adjacent = rotation.pairing ==
                                               Rotation::Pairing::kAdjacent,
                                   .cos = cos_rows,
                                   .sin = sin_rows,
                                   .input = from,
                                   .output = to,
                                   .store_policy = input_policy});
                  });
  };
  const int64_t width =
      std::max(2 * pairs, call.input == nullptr ? 0 : call.input->extent(-1));
  return ForBlocks(
      call, RowsPerBlock(call, width, cos.dtype()),
      BytesPerRow(call, 2 * pairs * SizeOf(cos.dtype())),
      [&](int64_t first, int64_t last) {
        const int64_t count = last - first;
        InTypeFor(cos.dtype(), [&](auto type) {
          using T = decltype(type);
          const TableRows<T> cos_rows(cos, first * pairs, count * pairs);
          const TableRows<T> sin_rows(sin, first * pairs, count * pairs);
          rotation.AngleRows(call.positions, first, count, cos_rows.get(),
                             sin_rows.get(), table_policy);
          cos_rows.Finish();
          sin_rows.Finish();
          if (call.input == nullptr) return;
          InTypeFor(call.input->dtype, [&](auto input_type) {
            using U = decltype(input_type);
            if constexpr (std::is_same_v<T, U>) {
              rotate(first, count, cos_rows.get(), sin_rows.get());
            } else {
              const AlignedBuffer<U> again(2 * count * pairs);
              U* const sines = again.get() + count * pairs;
              rotation.AngleRows(call.positions, first, count, again.get(),
                                 sines);
              rotate(first, count, again.get(), sines);
            }
          });
        });
      });
}

int64_t CodeScratchBytes(int64_t width) {
  // The table's rows before conversion, the rows in the type of the input, and
  // the converted copy of the input.
  return 3 * RowsPerBlock(width) * width * static_cast<int64_t>(sizeof(double));
}

}  // namespace locus
