#include "core/base/tensor.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/simd/aligned_buffer.h"

namespace locus {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::string RejectedField(DType dtype, const Shape& shape,
                          absl::string_view bytes) {
  return FieldOf(MakeTensorView(dtype, shape, bytes).status());
}

TEST(TensorTest, ViewRejectsSizesThatDoNotMatchTheShape) {
  const std::string bytes(24, '\0');
  EXPECT_TRUE(MakeTensorView(DType::kFloat32, {2, 3}, bytes).ok());
  EXPECT_EQ(RejectedField(DType::kFloat64, {2, 3}, bytes), "data");
}

TEST(TensorTest, ViewRejectsInvalidShapes) {
  const std::string bytes(24, '\0');
  EXPECT_EQ(RejectedField(DType::kFloat32, {-2, -3}, bytes), "shape");
  EXPECT_EQ(RejectedField(DType::kFloat32, {kMax, kMax}, bytes), "shape");
  EXPECT_EQ(RejectedField(DType::kFloat32, {1, 1, 1, 1, 1, 1, 1, 2, 3}, bytes),
            "shape");
}

TEST(TensorTest, ViewRejectsEmptyTensorsWithExcessiveExtents) {
  EXPECT_TRUE(MakeTensorView(DType::kFloat32, {0, 1 << 24, 0}, "").ok());
  EXPECT_EQ(RejectedField(DType::kFloat32, {0, 2, 1 << 24}, ""), "shape");
  EXPECT_EQ(RejectedField(DType::kFloat32, {0, kMax, kMax}, ""), "shape");
}

TEST(TensorTest, NegativeAxesCountFromTheEnd) {
  const Tensor tensor = Tensor::Zeros(DType::kBool, {2, 3, 5});
  EXPECT_EQ(tensor.view().extent(0), 2);
  EXPECT_EQ(tensor.view().extent(-1), 5);
  EXPECT_EQ(tensor.view().extent(-2), 3);
}

TEST(TensorTest, DataIsAlignedForVectors) {
  for (const int64_t count : {0, 1, 3, 1000, 100000, 1000000}) {
    Tensor tensor(DType::kFloat32, {count});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.at(0)) % 64, 0);
  }
}

TEST(TensorTest, ZerosAreZeroInReusedMemory) {
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

TEST(TensorTest, CopiesDoNotShareData) {
  Tensor original = Tensor::Zeros(DType::kBool, {2});
  const Tensor copy = original;
  *original.at(1) = 1;
  EXPECT_EQ(copy.view().data[1], 0);
  const Tensor empty;
  EXPECT_EQ(Tensor(empty).view().data, nullptr);
}

TEST(TensorTest, TakenBytesOutliveTheTensor) {
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

}  // namespace
}  // namespace locus
