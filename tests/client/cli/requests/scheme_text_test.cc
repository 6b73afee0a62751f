#include "client/cli/requests/scheme_text.h"

#include "client/cli/requests/scheme_names.h"
#include "client/cli/support/cli_errors.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
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

// The lines that show the place of the error.
std::string ExcerptOf(const std::string& text) {
  return ErrorExcerpt(ParseScheme(text).status());
}

// Whether two texts are the same scheme.
void ExpectSame(const std::string& text, const std::string& plain) {
  const auto scheme = ParseScheme(text);
  const auto wanted = ParseScheme(plain);
  ASSERT_TRUE(scheme.ok()) << text << ": " << scheme.status();
  ASSERT_TRUE(wanted.ok()) << plain << ": " << wanted.status();
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(*scheme, *wanted))
      << text << " is " << scheme->ShortDebugString();
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
  EXPECT_THAT(ErrorOf("ropee"),
              StartsWith("column 1: there is no scheme \"ropee\"; did you "
                         "mean rope? (schemes: none, "));
  EXPECT_THAT(ErrorOf("frob { }"), HasSubstr("t5_bias"));
}

TEST(SchemeTextTest, UnknownFieldGetsAPositionAndASuggestion) {
  EXPECT_THAT(ErrorOf("rope { layout: HALF_SPLIT bse: 1 }"),
              StartsWith("column 27: there is no field \"bse\"; did you "
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
              StartsWith("column 33: "));
  EXPECT_THAT(ErrorOf("rope { base: \"x\" layout: HALF_SPLIT }"),
              StartsWith("column 14: "));
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

TEST(SchemeTextTest, ShortFormSetsTheSameFieldsAsTextFormat) {
  const std::string wanted = "rope { base: 500000 yarn { factor: 4 } }";
  for (const char* text :
       {"rope:base=500000,yarn.factor=4", "rope(base=5e5, yarn.factor=4)",
        "rope( base = 5e5 , yarn.factor = 4 )",
        "rope: base=500000, yarn.factor=4", "rope base=500000 yarn.factor=4",
        "rope(yarn(factor=4), base=500000)", "rope:yarn=4,base=500000",
        "ROPE:BASE=500000,Yarn.Factor=4", "rope base=500000 yarn\u00d74",
        "yarn:factor=4,base=5e5", "yarn(factor=4, base=500000)",
        "YaRN\u00d74 base=500000", "rotary:base=5e5,yarn=4",
        "rope:base=500000,yarn.factor=4,"}) {
    ExpectSame(text, wanted);
  }
}

TEST(SchemeTextTest, ShortFormReadsEveryTypeOfValue) {
  ExpectSame("learned:max_length=1e3,policy=wrap,seed=3",
             "learned { max_length: 1000 policy: WRAP seed: 3 }");
  ExpectSame("alibi:symmetric", "alibi { symmetric: true }");
  ExpectSame("alibi:symmetric=false", "alibi { }");
  ExpectSame("alibi:slopes=[0.5, 0.25],bias_max=4",
             "alibi { slopes: 0.5 slopes: 0.25 bias_max: 4 }");
  ExpectSame("rope:layout=half-split,linear",
             "rope { layout: ROPE_LAYOUT_HALF_SPLIT linear { } }");
  ExpectSame("rope:randomized.maximum=4096",
             "rope { } randomized { maximum: 4096 }");
}

TEST(SchemeTextTest, AliasesStandForSchemes) {
  for (const auto& [alias, plain] :
       std::vector<std::pair<std::string, std::string>>{
           {"RoPE", "rope"},
           {"ALiBi", "alibi"},
           {"T5", "t5_bias"},
           {"t5-bias", "t5_bias"},
           {"NoPE", "none"},
           {"sin", "sinusoidal"},
           {"absolute", "learned"},
           {"rotary", "rope"},
           {"yarn", "rope { yarn { } }"},
           {"linear", "rope { linear { } }"},
           {"NTK", "rope { ntk { } }"},
           {"dynamic", "rope { dynamic_ntk { } }"},
           {"llama3", "rope { llama3 { } }"},
           {"LongRoPE", "rope { longrope { } }"},
           {"yarn { factor: 4 }", "rope { yarn { factor: 4 } }"},
           {"RoPE { BASE: 5 }", "rope { base: 5 }"},
           {"yarn {} randomized { seed: 1 }",
            "rope { yarn { } } randomized { seed: 1 }"}}) {
    ExpectSame(alias, plain);
  }
}

TEST(SchemeTextTest, NoAliasHidesAnotherScheme) {
  std::vector<std::string> names = SchemeNames();
  for (const std::string& group : SchemeGroupNames()) names.push_back(group);
  for (const std::string& name : names) {
    const auto named = FindNamedScheme(name);
    ASSERT_TRUE(named.has_value()) << name;
    EXPECT_EQ(
        named->group == nullptr ? named->kind->name() : named->group->name(),
        name);
  }
}

TEST(SchemeTextTest, ShortFormErrorsPointAtTheColumn) {
  for (const auto& [text, error] :
       std::vector<std::pair<std::string, std::string>>{
           {"rope:bse=1",
            "column 6: there is no field \"bse\"; did you mean "
            "base?"},
           {"rope(base=much)", "column 11: base is \"much\"; must be a number"},
           {"rope:rotary_dim=2.5",
            "column 17: rotary_dim is \"2.5\"; must be "
            "an integer"},
           {"rope:yarn.facto=4",
            "column 11: there is no field \"facto\"; did "
            "you mean factor?"},
           {"rope:yarn=4,ntk=2", "column 13: yarn and ntk exclude each other"},
           {"rope:base=1,base=2", "column 13: base is given twice"},
           {"rope:base", "column 10: base needs a value"},
           {"rope(base=1", "column 12: a closing ) is missing"},
           {"rope(base=5e5)yarn=4", "column 15: the scheme should end here"},
           {"rope(base=1) x", "column 14: the scheme should end here"},
           {"rope:layout=odd", "column 13: layout has no choice \"odd\""},
           {"alibi:slopes=[1,x]", "column 17: slopes is \"x\"; must be"},
           {"learned:table=1", "column 9: table has no fields"},
           {"rope:base.x=1", "column 6: base has no fields"},
           {"alibi\u00d74", "column 8: has no factor"},
           {"rope: 3", "column 7: there is no field \"3\""},
           {"rope:seed=-1", "column 6: there is no field \"seed\""},
           {"learned:seed=-1", "column 14: seed is \"-1\"; must be"}}) {
    EXPECT_THAT(ErrorOf(text), StartsWith(error)) << text;
  }
}

TEST(SchemeTextTest, ErrorsShowACaretAndAnExampleOfTheScheme) {
  EXPECT_EQ(
      ExcerptOf("rope { bse: 1 }"),
      "  rope { bse: 1 }\n"
      "         ^\n"
      "  for example: rope:base=10000,layout=half_split,linear.factor=4\n");
  EXPECT_EQ(
      ExcerptOf("rope {"),
      "  rope {\n"
      "        ^\n"
      "  for example: rope:base=10000,layout=half_split,linear.factor=4\n");
  EXPECT_THAT(ExcerptOf("alibi(slope=3)"), HasSubstr("example: alibi:"));
  EXPECT_THAT(ExcerptOf("rope { yarn 4 }"), HasSubstr("       ^\n"));
  EXPECT_THAT(ExcerptOf("rope {\n  layout: SIDEWAYS }"),
              StartsWith("    layout: SIDEWAYS }\n            ^\n"));
}

TEST(SchemeTextTest, ExcerptOfALongTextIsShort) {
  const std::string text = "alibi:slopes=[" + std::string(500, '1') +
                           "],bas=1," + std::string(500, ' ');
  const std::string excerpt = ExcerptOf(text);
  EXPECT_LE(excerpt.find('\n'), 80);
  EXPECT_THAT(excerpt, HasSubstr("bas=1"));
}

TEST(SchemeTextTest, ExampleOfEverySchemeIsCorrect) {
  for (const std::string& name : SchemeNames()) {
    const std::string example = SchemeExample(name, "");
    EXPECT_THAT(example, StartsWith(name));
    const auto scheme = ParseScheme(example);
    ASSERT_TRUE(scheme.ok()) << scheme.status();
    EXPECT_EQ(SchemeName(*scheme), name);
  }
  EXPECT_THAT(SchemeExample("rope", "yarn"), HasSubstr(",yarn.factor=4"));
}

TEST(SchemeTextTest, LabelNamesTheScheme) {
  for (const auto& [text, label] :
       std::vector<std::pair<std::string, std::string>>{
           {"long=rope:base=500000", "long"},
           {"long=rope { base: 500000 }", "long"},
           {"long= rope(base=500000)", "long"},
           {"long-base=RoPE base=500000", "long-base"},
           {"\"long base\"=rope:base=500000", "long base"},
           {"rope base=500000", ""},
           {"rope:base=500000", ""}}) {
    const auto scheme = ParseScheme(text);
    ASSERT_TRUE(scheme.ok()) << text << ": " << scheme.status();
    EXPECT_EQ(scheme->rope().base(), 500000) << text;
    EXPECT_EQ(scheme->label(), label) << text;
  }
}

TEST(SchemeTextTest, ErrorsBehindALabelHaveTheColumnOfTheWholeText) {
  EXPECT_THAT(ErrorOf("long=ropee"),
              StartsWith("column 6: there is no scheme"));
  EXPECT_THAT(ErrorOf("long=rope:bse=1"), StartsWith("column 11: there is no"));
  EXPECT_THAT(ExcerptOf("long=ropee"), StartsWith("  long=ropee\n       ^\n"));
  EXPECT_FALSE(ParseScheme("long=").ok());
  EXPECT_FALSE(ParseScheme("=rope").ok());
  EXPECT_FALSE(ParseScheme("\"long=rope").ok());
}

TEST(SchemeTextTest, KnowsWhichFieldsTheTextSets) {
  const auto* symmetric =
      v1::AlibiScheme::descriptor()->FindFieldByName("symmetric");
  for (const char* text : {"alibi { symmetric: false }",
                           "alibi:symmetric=false", "ALiBi(Symmetric)"}) {
    EXPECT_EQ(ParseSchemeText(text)->given.count(symmetric), 1) << text;
  }
  EXPECT_EQ(ParseSchemeText("alibi:bias_max=4")->given.count(symmetric), 0);
}

TEST(SchemeTextTest, RejectsDeepNesting) {
  std::string text = "rope ";
  for (int i = 0; i < 100000; ++i) text += "{ x ";
  EXPECT_FALSE(ParseScheme(text).ok());
  text = "rope";
  for (int i = 0; i < 100000; ++i) text += "(randomized";
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
