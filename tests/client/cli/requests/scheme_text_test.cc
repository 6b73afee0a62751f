#include "client/cli/requests/scheme_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(const std::string& text) {
  const auto scheme = ParseScheme(text);
  EXPECT_FALSE(scheme.ok()) << text;
  return std::string(scheme.status().message());
}

TEST(SchemeTextTest, BareNameIsASchemeWithDefaults) {
  for (const std::string& name : SchemeNames()) {
    const auto scheme = ParseScheme(name);
    ASSERT_TRUE(scheme.ok()) << scheme.status();
    EXPECT_EQ(SchemeName(*scheme), name);
  }
  EXPECT_TRUE(ParseScheme("  rope\n").ok());
  EXPECT_TRUE(ParseScheme("rope # a comment").ok());
}

TEST(SchemeTextTest, ReadsFields) {
  const auto scheme = ParseScheme("rope { base: 500000 rotary_dim: 32 }");
  ASSERT_TRUE(scheme.ok()) << scheme.status();
  EXPECT_EQ(scheme->rope().base(), 500000);
  EXPECT_EQ(scheme->rope().rotary_dim(), 32);
  EXPECT_THAT(
      ParseScheme("alibi{slopes: [1, 0.5] symmetric: true}")->alibi().slopes(),
      ElementsAre(1, 0.5));
}

TEST(SchemeTextTest, AcceptsEnumValuesWithoutPrefix) {
  for (const char* text :
       {"rope { layout: ROPE_LAYOUT_HALF_SPLIT }",
        "rope { layout: HALF_SPLIT }", "rope{layout:half_split}",
        "rope {\n  base: 1\n\tlayout: HALF_SPLIT rotary_dim: 2 }",
        "rope { layout: 2 }"}) {
    const auto scheme = ParseScheme(text);
    ASSERT_TRUE(scheme.ok()) << scheme.status();
    EXPECT_EQ(scheme->rope().layout(), v1::ROPE_LAYOUT_HALF_SPLIT) << text;
  }
  EXPECT_EQ(ParseScheme("learned { policy: WRAP seed: 3 }")->learned().policy(),
            v1::LEARNED_POLICY_WRAP);
}

TEST(SchemeTextTest, UnknownSchemeGetsASuggestionAndAList) {
  EXPECT_EQ(
      ErrorOf("ropee").substr(0, 75),
      "line 1, column 1: there is no scheme \"ropee\"; did you mean rope? "
      "(schemes: ");
  EXPECT_THAT(ErrorOf("frob { }"), HasSubstr("t5_bias"));
}

TEST(SchemeTextTest, UnknownFieldGetsAPositionAndASuggestion) {
  EXPECT_THAT(
      ErrorOf("rope { layout: HALF_SPLIT bse: 1 }"),
      StartsWith("line 1, column 27: there is no field \"bse\"; did you "
                 "mean base?"));
  EXPECT_THAT(ErrorOf("none { x: 1 }"), HasSubstr("fields: none"));
}

TEST(SchemeTextTest, UnknownEnumValueGetsAList) {
  const std::string error = ErrorOf("rope {\n  layout: SIDEWAYS }");
  EXPECT_THAT(error, StartsWith("line 2, column 11: "));
  EXPECT_THAT(error, HasSubstr("(choices: INTERLEAVED, HALF_SPLIT)"));
}

TEST(SchemeTextTest, ReportsColumnsOfTheOriginalText) {
  // Enum values are expanded before protobuf parses the text.
  EXPECT_THAT(ErrorOf("rope { layout: HALF_SPLIT base: \"x\" }"),
              StartsWith("line 1, column 33: "));
  EXPECT_THAT(ErrorOf("rope { base: \"x\" layout: HALF_SPLIT }"),
              StartsWith("line 1, column 14: "));
}

TEST(SchemeTextTest, RejectsMalformedText) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "rope {",
                           "rope }",
                           "rope { base }",
                           "rope: 3",
                           "rope { base: }",
                           "rope rope",
                           "rope {} alibi {}",
                           "rope { base: 1 } }",
                           "rope { base { } }",
                           "rope { layout { x: 1 } }",
                           "\"rope\"",
                           "rope {{}}",
                           "12",
                           "rope { base: 1, , }",
                           "rope { [a.b]: 1 }",
                           "\x01\xff",
                           "#",
                           "rope { base: 'unterminated }"}) {
    EXPECT_FALSE(ParseScheme(text).ok()) << text;
  }
}

TEST(SchemeTextTest, RejectsDeepNesting) {
  std::string text = "rope ";
  for (int i = 0; i < 100000; ++i) text += "{ x ";
  EXPECT_FALSE(ParseScheme(text).ok());
}

TEST(SchemeTextTest, SetsTheTableOfSchemesThatHaveOne) {
  const v1::Tensor table = *MakeTensor<float>({1, 2}, {1, 2});
  v1::Scheme learned = *ParseScheme("learned { policy: CLAMP }");
  ASSERT_TRUE(SetTable(table, &learned).ok());
  EXPECT_EQ(learned.learned().table().shape(1), 2);
  EXPECT_EQ(learned.learned().policy(), v1::LEARNED_POLICY_CLAMP);
  v1::Scheme rope = *ParseScheme("rope");
  EXPECT_THAT(std::string(SetTable(table, &rope).message()),
              HasSubstr("rope takes no table"));
}

}  // namespace
}  // namespace locus::client
