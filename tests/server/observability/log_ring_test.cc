#include "server/observability/log_ring.h"

#include <gtest/gtest.h>

#include <string>

namespace locus::server {
namespace {

constexpr size_t kAll = 1000;

TEST(LogRingTest, ReturnsLinesInOrder) {
  LogRing ring({.max_lines = 10, .max_bytes = 100});
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.Push("a\n"), 0);
  EXPECT_EQ(ring.Push("b\n"), 0);
  EXPECT_FALSE(ring.empty());
  EXPECT_EQ(ring.Pop(kAll), "a\nb\n");
  EXPECT_TRUE(ring.empty());
}

TEST(LogRingTest, DropsTheOldestLineAtTheMaxCount) {
  LogRing ring({.max_lines = 2, .max_bytes = 100});
  ring.Push("a\n");
  ring.Push("b\n");
  EXPECT_EQ(ring.Push("c\n"), 1);
  EXPECT_EQ(ring.Pop(kAll), "b\nc\n");
}

TEST(LogRingTest, DropsAsManyOldLinesAsTheBytesRequire) {
  LogRing ring({.max_lines = 10, .max_bytes = 8});
  ring.Push("a\n");
  ring.Push("b\n");
  ring.Push("c\n");
  EXPECT_EQ(ring.Push("long\n"), 2);
  EXPECT_EQ(ring.Pop(kAll), "c\nlong\n");
  // Popped lines make room again.
  EXPECT_EQ(ring.Push("1234567\n"), 0);
}

TEST(LogRingTest, DropsALineLongerThanTheRing) {
  LogRing ring({.max_lines = 10, .max_bytes = 8});
  ring.Push("a\n");
  EXPECT_EQ(ring.Push("12345678\n"), 1);
  EXPECT_EQ(ring.Pop(kAll), "a\n");
}

TEST(LogRingTest, PopsWholeLinesUpToASize) {
  LogRing ring({.max_lines = 10, .max_bytes = 100});
  for (const char* line : {"long\n", "a\n", "b\n", "c\n"}) ring.Push(line);
  EXPECT_EQ(ring.Pop(1), "long\n");
  EXPECT_EQ(ring.Pop(5), "a\nb\n");
  EXPECT_EQ(ring.Pop(2), "c\n");
}

TEST(LogRingTest, NumbersTheLines) {
  LogRing ring({.max_lines = 2, .max_bytes = 8});
  EXPECT_EQ(ring.end(), 0);
  for (const char* line : {"a\n", "b\n", "c\n"}) ring.Push(line);
  EXPECT_EQ(ring.begin(), 1);
  EXPECT_EQ(ring.end(), 3);
  ring.Push("too long for the ring\n");
  EXPECT_EQ(ring.end(), 3);
  ring.Pop(2);
  EXPECT_EQ(ring.begin(), 2);
}

}  // namespace
}  // namespace locus::server
