#include "client/cli/requests/positions.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/npy.h"
#include "locus/client/tensor.h"
#include "tests/support/temporary_folder.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;

TEST(PositionsTest, RangeExcludesItsEnd) {
  const auto positions = ParsePositions("5:16");
  ASSERT_TRUE(positions.ok());
  EXPECT_EQ(positions->range().start(), 5);
  EXPECT_EQ(positions->range().count(), 11);
  EXPECT_EQ(PositionCount(*positions), 11);
  EXPECT_EQ(PositionAt(*positions, 2), 7);
}

TEST(PositionsTest, KeepsTheOrderOfAList) {
  const auto positions = ParsePositions("9,0, 5");
  ASSERT_TRUE(positions.ok());
  EXPECT_THAT(positions->ids().ids(), ElementsAre(9, 0, 5));
  EXPECT_EQ(PositionCount(*positions), 3);
  EXPECT_EQ(PositionAt(*positions, 0), 9);
  EXPECT_THAT(ParsePositions("7")->ids().ids(), ElementsAre(7));
}

TEST(PositionsTest, AcceptsAnEmptyRange) {
  EXPECT_EQ(PositionCount(*ParsePositions("3:3")), 0);
}

TEST(PositionsTest, ReadsAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("ids.npy");
  ASSERT_TRUE(WriteNpy(path, *MakeTensor<int64_t>({2}, {4, 2})).ok());
  EXPECT_THAT(ParsePositions("@" + path)->ids().ids(), ElementsAre(4, 2));
  ASSERT_TRUE(WriteNpy(path, *MakeTensor<float>({2}, {4, 2})).ok());
  EXPECT_FALSE(ParsePositions("@" + path).ok());
  ASSERT_TRUE(WriteNpy(path, *MakeTensor<int64_t>({1, 1}, {4})).ok());
  EXPECT_FALSE(ParsePositions("@" + path).ok());
}

TEST(PositionsTest, RejectsMalformedLists) {
  for (const char* text :
       {"", "a", "1,", ",", "1:", ":3", "1:2:3", "4:1", "-1:3", "1.5",
        "99999999999999999999", "@", "@/nonexistent.npy", "1;2"}) {
    EXPECT_FALSE(ParsePositions(text).ok()) << text;
  }
}

}  // namespace
}  // namespace locus::client
