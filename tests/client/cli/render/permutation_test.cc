#include "client/cli/render/permutation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PermutationTest, ParsesEveryNumberOnce) {
  EXPECT_THAT(*ParsePermutation("2,0,1"), ElementsAre(2, 0, 1));
  for (const char* text : {"", "0,0", "1,2", "0,-1", "0,x", "0,1,"}) {
    EXPECT_FALSE(ParsePermutation(text).ok()) << text;
  }
}

TEST(PermutationTest, PermutesTokensAndRowsOfX) {
  v1::AttendRequest request;
  for (const char* word : {"a", "b", "c"}) {
    request.mutable_module()->add_tokens(word);
  }
  EXPECT_THAT(PermutedRequest(request, {2, 0, 1})->module().tokens(),
              ElementsAre("c", "a", "b"));
  EXPECT_FALSE(PermutedRequest(request, {1, 0}).ok());

  v1::AttendRequest rows;
  *rows.mutable_module()->mutable_x() =
      *MakeTensor<double>({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(*ToDoubles(PermutedRequest(rows, {2, 0, 1})->module().x()),
              ElementsAre(5, 6, 1, 2, 3, 4));
  EXPECT_FALSE(PermutedRequest(rows, {1, 0}).ok());
}

TEST(PermutationTest, QueriesKeysAndValuesAreRejected) {
  v1::AttendRequest request;
  request.mutable_heads();
  EXPECT_THAT(PermutedRequest(request, {1, 0}).status().message(),
              HasSubstr("--tokens or --x"));
}

TEST(PermutationTest, VerdictFollowsTheDifference) {
  const v1::Tensor y = *MakeTensor<double>({1, 2, 1}, {1, 2});
  const auto equal =
      ComparePermuted({1, 0}, y, *MakeTensor<double>({1, 2, 1}, {2, 1}));
  EXPECT_TRUE(IsEquivariant(*equal));
  EXPECT_THAT(FormatPermutation(*equal, {"he", "works"}, 80),
              HasSubstr("The layer is equivariant"));
  const auto different =
      ComparePermuted({1, 0}, y, *MakeTensor<double>({1, 2, 1}, {2, 1.5}));
  EXPECT_FALSE(IsEquivariant(*different));
  EXPECT_EQ(different->max_difference, 0.5);
  EXPECT_THAT(FormatPermutation(*different, {"he", "works"}, 80),
              HasSubstr("not equivariant"));
}

TEST(PermutationTest, NanIsNotEquivariant) {
  const auto result =
      ComparePermuted({1, 0}, *MakeTensor<double>({1, 2, 1}, {1, 2}),
                      *MakeTensor<double>({1, 2, 1}, {2, std::nan("")}));
  EXPECT_FALSE(IsEquivariant(*result));
}

TEST(PermutationTest, ServerAnswerOfAnotherShapeIsAnError) {
  EXPECT_FALSE(ComparePermuted({1, 0},
                               *MakeTensor<double>({1, 3, 1}, {1, 2, 3}),
                               *MakeTensor<double>({1, 3, 1}, {1, 2, 3}))
                   .ok());
}

}  // namespace
}  // namespace locus::client
