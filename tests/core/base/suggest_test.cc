#include "core/base/suggest.h"

#include "gtest/gtest.h"

namespace locus {
namespace {

TEST(SuggestTest, CountsEdits) {
  EXPECT_EQ(EditDistance("rope", "rope"), 0);
  EXPECT_EQ(EditDistance("rope", "ropee"), 1);
  EXPECT_EQ(EditDistance("rope", "rop"), 1);
  EXPECT_EQ(EditDistance("rope", "ripe"), 1);
  EXPECT_EQ(EditDistance("alibi", "ailbi"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
}

TEST(SuggestTest, FindsTheNearestName) {
  EXPECT_EQ(Nearest("encdoe", {"schemes", "encode", "attend"}), "encode");
}

TEST(SuggestTest, SuggestsNoDistantNames) {
  EXPECT_EQ(Nearest("frobnicate", {"schemes", "encode", "attend"}), "");
  EXPECT_EQ(Nearest(std::string(100000, 'x'), {"encode"}), "");
  EXPECT_EQ(DidYouMean("zzz", {"encode"}), "");
}

}  // namespace
}  // namespace locus
