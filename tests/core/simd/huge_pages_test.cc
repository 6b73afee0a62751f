#include "core/simd/huge_pages.h"

#include <cstddef>
#include <cstdint>
#include <new>

#include <gtest/gtest.h>

#include "core/simd/aligned_buffer.h"

namespace locus {
namespace {

// Size of the last request for huge pages.
size_t requested_bytes = 0;

TEST(HugePagesTest, OnlyLargeBuffersRequestHugePages) {
  SetHugePageAdvisor([](void* data, size_t bytes) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kHugePageBytes, 0);
    requested_bytes = bytes;
  });
  const AlignedBuffer<char> small(kHugeBufferBytes - 1);
  EXPECT_EQ(requested_bytes, 0);
  const AlignedBuffer<char> large(kHugeBufferBytes + 1);
  EXPECT_EQ(requested_bytes, kHugeBufferBytes + kHugePageBytes);
  SetHugePageAdvisor(nullptr);
}

TEST(HugePagesTest, LargeBuffersAreWritableToTheLastByte) {
  const AlignedBuffer<char> buffer(kHugeBufferBytes + 1);
  buffer.get()[0] = buffer.get()[kHugeBufferBytes] = 1;
}

TEST(HugePagesTest, ExcessiveSizesThrowBadAlloc) {
  EXPECT_THROW(AllocateHugeBuffer(SIZE_MAX), std::bad_alloc);
}

}  // namespace
}  // namespace locus
