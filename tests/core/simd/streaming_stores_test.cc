#include "core/simd/streaming_stores.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/every_target.h"

namespace locus {
namespace {

TEST(StreamingStoresTest, CopyIsExactForAnySizeAndAlignment) {
  std::vector<char> source(1000);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i);
  testing::ForEveryTarget([&] {
    for (const StorePolicy policy :
         {StorePolicy::kCached, StorePolicy::kStreaming}) {
      for (const int64_t offset : {0, 1, 3, 17, 64}) {
        for (const int64_t bytes : {0, 1, 15, 63, 64, 65, 500}) {
          std::vector<char> target(600, 'x');
          Copy(source.data() + 5, bytes, target.data() + offset, policy);
          for (int64_t i = 0; i < 600; ++i) {
            const bool copied = i >= offset && i < offset + bytes;
            ASSERT_EQ(target[i], copied ? source[5 + i - offset] : 'x')
                << offset << " " << bytes << " " << i;
          }
        }
      }
    }
  });
}

TEST(StreamingStoresTest, OnlyLargeResultsAreStreamed) {
  EXPECT_EQ(StorePolicyFor(1 << 10), StorePolicy::kCached);
  EXPECT_EQ(StorePolicyFor(1 << 30), StorePolicy::kStreaming);
}

}  // namespace
}  // namespace locus
