// Sizes, types, streams, positions and threads.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "core/simd/aligned_buffer.h"
#include "core/simd/huge_pages.h"
#include "core/base/positions.h"
#include "core/base/random.h"
#include "core/base/shape.h"
#include "core/base/status.h"
#include "core/base/tensor.h"
#include "core/parallel/thread_pool.h"

namespace locus {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ShapeTest, OverflowIsNoticed) {
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedMul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(CheckedProduct({1 << 20, 1 << 20, 1 << 20, 8}), std::nullopt);
  EXPECT_EQ(CheckedProduct({kMax, 1}), kMax);
  EXPECT_EQ(ElementCount({2, -1}), std::nullopt);
  EXPECT_EQ(ElementCount({}), 1);
}

TEST(ShapeTest, AZeroExtentMakesAnyShapeEmpty) {
  EXPECT_EQ(ElementCount({kMax, kMax, 0}), 0);
}

TEST(TensorTest, SizeMustBeExact) {
  const std::string bytes(24, '\0');
  EXPECT_TRUE(MakeTensorView(DType::kFloat32, {2, 3}, bytes).ok());
  EXPECT_EQ(FieldOf(MakeTensorView(DType::kFloat64, {2, 3}, bytes).status()),
            "data");
  EXPECT_EQ(FieldOf(MakeTensorView(DType::kFloat32, {-2, -3}, bytes).status()),
            "shape");
  EXPECT_EQ(
      FieldOf(MakeTensorView(DType::kFloat32, {kMax, kMax}, bytes).status()),
      "shape");
  EXPECT_EQ(FieldOf(MakeTensorView(DType::kFloat32, {1, 1, 1, 1, 1, 1, 1, 2, 3},
                                   bytes)
                        .status()),
            "shape");
}

TEST(TensorTest, EmptyTensorsHaveSensibleExtents) {
  EXPECT_TRUE(MakeTensorView(DType::kFloat32, {0, 1 << 24, 0}, "").ok());
  EXPECT_EQ(
      FieldOf(MakeTensorView(DType::kFloat32, {0, 2, 1 << 24}, "").status()),
      "shape");
  EXPECT_EQ(
      FieldOf(MakeTensorView(DType::kFloat32, {0, kMax, kMax}, "").status()),
      "shape");
}

TEST(TensorTest, VectorsLoadFromItsStart) {
  for (const int64_t count : {0, 1, 3, 1000, 100000, 1000000}) {
    Tensor tensor(DType::kFloat32, {count});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.at(0)) % 64, 0);
  }
}

TEST(TensorTest, ZerosAreZeroWhateverLayThereBefore) {
  constexpr int64_t kCount = 1000;
  {
    Tensor used(DType::kFloat64, {kCount});
    std::fill_n(used.at(0), used.byte_count(), 'x');
  }
  const Tensor zeros = Tensor::Zeros(DType::kFloat64, {kCount});
  const char* const data = zeros.view().data;
  EXPECT_TRUE(std::all_of(data, data + zeros.byte_count(),
                          [](char byte) { return byte == 0; }));
}

TEST(TensorTest, CopiesHaveBytesOfTheirOwn) {
  Tensor original = Tensor::Zeros(DType::kBool, {2});
  const Tensor copy = original;
  *original.at(1) = 1;
  EXPECT_EQ(copy.view().data[1], 0);
  const Tensor nothing;
  EXPECT_EQ(Tensor(nothing).view().data, nullptr);
}

TEST(TensorTest, BytesOutliveTheTensorThatGaveThemAway) {
  AlignedBuffer<char> bytes;
  {
    Tensor tensor = Tensor::Zeros(DType::kInt64, {3});
    *tensor.at(1) = 7;
    bytes = tensor.TakeBytes();
  }
  char* const released = bytes.Release();
  EXPECT_EQ(bytes.get(), nullptr);
  EXPECT_EQ(released[8], 7);
  AlignedBuffer<char>::Free(released, 24);
}

// What was asked for last.
size_t asked_bytes = 0;

TEST(HugePagesTest, AreAskedForByLargeBuffersAlone) {
  SetAskForHugePages([](void* data, size_t bytes) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kHugePageBytes, 0);
    asked_bytes = bytes;
  });
  const AlignedBuffer<char> small(kHugeBufferBytes - 1);
  EXPECT_EQ(asked_bytes, 0);
  const AlignedBuffer<char> large(kHugeBufferBytes + 1);
  EXPECT_EQ(asked_bytes, kHugeBufferBytes + kHugePageBytes);
  SetAskForHugePages(nullptr);
}

TEST(HugePagesTest, LargeBuffersAreWritableToTheLastByte) {
  const AlignedBuffer<char> buffer(kHugeBufferBytes + 1);
  buffer.get()[0] = buffer.get()[kHugeBufferBytes] = 1;
}

TEST(HugePagesTest, TooMuchIsBadAlloc) {
  EXPECT_THROW(AllocateHugeBuffer(SIZE_MAX), std::bad_alloc);
}

TEST(DTypeTest, NarrowTypesRoundToNearestEven) {
  const float values[] = {1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f, 65520.0f};
  uint16_t bits[3];
  WriteRow(DType::kBFloat16, values, 2, bits);
  EXPECT_EQ(bits[0], 0x3f80);  // the tie goes down to even
  EXPECT_EQ(bits[1], 0x3f82);  // and up
  WriteRow(DType::kFloat16, values + 2, 1, bits);
  EXPECT_EQ(bits[0], 0x7c00);  // beyond the largest half: infinity
}

TEST(DTypeTest, SpecialValuesSurvive) {
  const double values[] = {std::nan(""), -INFINITY, INFINITY, -0.0};
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    char bytes[4 * 8 + 1];
    double read[4];
    WriteRow(dtype, values, 4, bytes + 1);  // any alignment
    ReadRow(dtype, bytes + 1, 4, read);
    EXPECT_TRUE(std::isnan(read[0]));
    EXPECT_EQ(read[1], -INFINITY);
    EXPECT_EQ(read[2], INFINITY);
    EXPECT_TRUE(std::signbit(read[3]));
  }
}

TEST(DTypeTest, DoubleToNarrowRoundsOnce) {
  // Just above the middle of two halves; by way of float it would become the
  // middle and then round down to even.
  const double value = 1.0 + 0x1p-11 + 0x1p-40;
  uint16_t bits;
  WriteRow(DType::kFloat16, &value, 1, &bits);
  EXPECT_EQ(bits, 0x3c01);
  const double other = 1.0 + 0x1p-8 + 0x1p-40;
  WriteRow(DType::kBFloat16, &other, 1, &bits);
  EXPECT_EQ(bits, 0x3f81);
}

TEST(RandomTest, StreamsAreIndependentAndRepeatable) {
  RandomStream a(1, "a"), again(1, "a"), b(1, "b"), other(2, "a");
  const uint64_t first = a.Next();
  EXPECT_EQ(first, again.Next());
  EXPECT_NE(first, b.Next());
  EXPECT_NE(first, other.Next());
}

TEST(RandomTest, NormalsHaveTheRightMoments) {
  constexpr int kCount = 200000;
  RandomStream stream(3, "moments");
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.Normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Five standard errors of each mean.
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourth / kCount, 3, 5 * std::sqrt(96.0 / kCount));
}

TEST(PositionsTest, ConsecutiveIdsAreARange) {
  EXPECT_TRUE(Positions::Ids({5, 6, 7})->is_range());
  EXPECT_FALSE(Positions::Ids({5, 7, 6})->is_range());
  EXPECT_EQ(Positions::Ids({5, 7, 6})->max(), 7);
  EXPECT_EQ(Positions::Range(3, 4)->max(), 6);
  EXPECT_EQ(Positions::Range(3, 0)->max(), -1);
}

TEST(PositionsTest, NegativeAndEndlessOnesAreRefused) {
  EXPECT_EQ(FieldOf(Positions::Ids({0, 3, -1}).status()), "ids[2]");
  EXPECT_EQ(FieldOf(Positions::Range(-1, 3).status()), "start");
  EXPECT_EQ(FieldOf(Positions::Range(0, -3).status()), "count");
  EXPECT_EQ(FieldOf(Positions::Range(kMax, 2).status()), "count");
}

TEST(StatusTest, FieldsTravelWithTheError) {
  const absl::Status inner = InvalidField("base", "is -1; must be positive");
  const absl::Status outer = Within("scheme.rope", inner);
  EXPECT_EQ(FieldOf(outer), "scheme.rope.base");
  EXPECT_EQ(outer.message(), "scheme.rope.base: is -1; must be positive");
  const absl::Status limit = Within("a", LimitExceeded("b", "max_c", "is 9"));
  EXPECT_EQ(LimitOf(limit), "max_c");
  EXPECT_EQ(limit.code(), absl::StatusCode::kResourceExhausted);
}

TEST(ThreadPoolTest, EveryItemRunsOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    std::vector<std::atomic<int>> runs(1000);
    pool.ParallelFor(1000, [&](int64_t i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    pool.ParallelFor(0, [](int64_t) { FAIL(); });
  }
}

TEST(ThreadPoolTest, ManyCallersShareThePool) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        pool.ParallelFor(17, [&](int64_t i) { sum += i; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, int64_t{4} * 200 * 136);
}

TEST(ThreadPoolTest, TheCallerHearsWhenMemoryRunsOut) {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    EXPECT_THROW(pool.ParallelFor(100,
                                  [](int64_t i) {
                                    if (i == 7) throw std::bad_alloc();
                                  }),
                 std::bad_alloc);
    std::atomic<int> runs = 0;
    pool.ParallelFor(10, [&](int64_t) { ++runs; });
    EXPECT_EQ(runs, 10);
  }
}

TEST(ThreadPoolTest, EachThreadItStartsBeginsAsTold) {
  std::atomic<int> begun = 0;
  {
    const ThreadPool pool(3, [&] { ++begun; });
  }
  EXPECT_EQ(begun, 2);
}

TEST(ThreadPoolTest, CallsMayBeNested) {
  ThreadPool pool(3);
  std::atomic<int> count = 0;
  pool.ParallelFor(
      8, [&](int64_t) { pool.ParallelFor(8, [&](int64_t) { ++count; }); });
  EXPECT_EQ(count, 64);
}

}  // namespace
}  // namespace locus
