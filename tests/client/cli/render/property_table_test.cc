#include "client/cli/render/property_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/support/text_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::PropertyResult* Add(v1::SchemeProperties* scheme, const std::string& name,
                        v1::PropertyVerdict verdict, v1::PromiseAnswer promise,
                        bool as_promised) {
  v1::PropertyResult* result = scheme->add_properties();
  result->set_property(name);
  result->set_verdict(verdict);
  result->set_promise(promise);
  result->set_as_promised(as_promised);
  result->set_measured(0.25);
  result->set_tolerance(1e-6);
  result->set_worked_case("the worked case");
  return result;
}

v1::CheckPropertiesResponse Response(bool broken) {
  v1::CheckPropertiesResponse response;
  v1::SchemeProperties* rope = response.add_results();
  rope->set_scheme_name("rope");
  Add(rope, "linear_shift", v1::PROPERTY_VERDICT_NOT_APPLICABLE,
      v1::PROMISE_ANSWER_NOT_APPLICABLE, true);
  Add(rope, "uniqueness", v1::PROPERTY_VERDICT_FAILS,
      broken ? v1::PROMISE_ANSWER_YES : v1::PROMISE_ANSWER_NO, !broken);
  v1::SchemeProperties* naive = response.add_results();
  naive->set_scheme_name("one_hot");
  naive->set_naive(true);
  Add(naive, "smoothness", v1::PROPERTY_VERDICT_FAILS, v1::PROMISE_ANSWER_NO,
      true);
  return response;
}

TEST(PropertyTableTest, IsOneMatrix) {
  EXPECT_EQ(FormatProperties(Response(false), {.width = 80}),
            R"(         linear         uniqueness     smoothness
         shift
rope                    –
naive encodings, for comparison:
one_hot                                –

✓ holds as promised, – does not hold (not promised), ✗ broken promise, blank:
not defined for the scheme. --details shows the numbers.

All 3 verdicts are as promised.
)");
  EXPECT_EQ(BrokenPromises(Response(false)), 0);
}

TEST(PropertyTableTest, MarksBrokenPromises) {
  const std::string text = FormatProperties(Response(true), {.width = 80});
  EXPECT_THAT(text, HasSubstr("rope                    ✗\n"));
  EXPECT_THAT(text, HasSubstr("1 of 3 verdicts break a promise:\n"
                              "  rope, uniqueness: does not hold, but is "
                              "promised; measured 0.25, allowed 1e-06\n"));
  EXPECT_EQ(BrokenPromises(Response(true)), 1);
}

TEST(PropertyTableTest, MarksAPropertyThatHoldsAgainstItsDeclaration) {
  v1::CheckPropertiesResponse response;
  v1::SchemeProperties* scheme = response.add_results();
  scheme->set_scheme_name("rope");
  Add(scheme, "uniqueness", v1::PROPERTY_VERDICT_HOLDS, v1::PROMISE_ANSWER_NO,
      false);
  EXPECT_THAT(FormatProperties(response, {.width = 80}),
              HasSubstr("rope, uniqueness: holds, but is declared not to;"));
}

TEST(PropertyTableTest, AnyNumberOfPropertiesFitsTheWidth) {
  v1::CheckPropertiesResponse response;
  v1::SchemeProperties* scheme = response.add_results();
  scheme->set_scheme_name("sinusoidal");
  for (int i = 0; i < 40; ++i) {
    Add(scheme, absl::StrCat("permutation_equivariance_", i),
        v1::PROPERTY_VERDICT_HOLDS, v1::PROMISE_ANSWER_YES, true);
    const std::string text = FormatProperties(response, {.width = 80});
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(DisplayWidth(line), 80) << line;
    }
    // Every property has a column.
    size_t marks = 0;
    for (size_t at = text.find("✓"); at != text.npos;
         at = text.find("✓", at + 1)) {
      ++marks;
    }
    EXPECT_EQ(marks, i + 2u);  // one of them in the legend
  }
}

TEST(PropertyTableTest, EscapesNames) {
  v1::CheckPropertiesResponse response;
  v1::SchemeProperties* scheme = response.add_results();
  scheme->set_scheme_name("ro\x1b[2Jpe\nnone");
  Add(scheme, "unique\u202eness", v1::PROPERTY_VERDICT_FAILS,
      v1::PROMISE_ANSWER_YES, false)
      ->set_worked_case("a\u009bb\nc");
  const std::string text = FormatProperties(response, {.details = true});
  EXPECT_THAT(text, HasSubstr("\nro\\u001b[2Jpe\\u000anone\n"
                              "  unique\\u202eness: does not hold"));
  EXPECT_THAT(text, HasSubstr("\n    a\\u009bb\\u000ac\n"));
  EXPECT_THAT(text, HasSubstr("\n  ro\\u001b[2Jpe\\u000anone, "
                              "unique\\u202eness: "));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(PropertyTableTest, DetailsShowNumbersAndWorkedCases) {
  EXPECT_THAT(FormatProperties(Response(false), {.details = true}),
              HasSubstr("\nrope\n"
                        "  linear_shift: not defined\n"
                        "    the worked case\n"
                        "  uniqueness: does not hold (not promised); measured "
                        "0.25, allowed 1e-06\n"
                        "    the worked case\n"));
  EXPECT_THAT(FormatProperties(Response(false), {}),
              Not(HasSubstr("the worked case")));
}

}  // namespace
}  // namespace locus::client
