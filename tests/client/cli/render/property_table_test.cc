#include "client/cli/render/property_table.h"

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

TEST(PropertyTableTest, ShowsVerdictsAndDeclarations) {
  EXPECT_EQ(FormatProperties(Response(false), {}),
            R"(SCHEME  PROPERTY      VERDICT  MEASURED  ALLOWED  PROMISED
rope    linear_shift  -        -         -        -
        uniqueness    fails    0.25      1e-06    no

Naive encodings, for comparison:

ENCODING  PROPERTY    VERDICT  MEASURED  ALLOWED  PROMISED
one_hot   smoothness  fails    0.25      1e-06    no

All 3 are as promised.
)");
  EXPECT_EQ(BrokenPromises(Response(false)), 0);
}

TEST(PropertyTableTest, MarksVerdictsThatDifferFromTheDeclaration) {
  const std::string text = FormatProperties(Response(true), {});
  EXPECT_THAT(text, HasSubstr("yes       <== PROMISE BROKEN"));
  EXPECT_THAT(text, HasSubstr("1 of 3 PROMISES BROKEN: rope uniqueness\n"));
  EXPECT_EQ(BrokenPromises(Response(true)), 1);
}

TEST(PropertyTableTest, EscapesNames) {
  v1::CheckPropertiesResponse response;
  v1::SchemeProperties* scheme = response.add_results();
  scheme->set_scheme_name("ro\x1b[2Jpe\nnone");
  Add(scheme, "unique\u202eness", v1::PROPERTY_VERDICT_FAILS,
      v1::PROMISE_ANSWER_YES, false)
      ->set_worked_case("a\u009bb\nc");
  const std::string text = FormatProperties(response, {.details = true});
  EXPECT_THAT(text,
              HasSubstr("\nro\\u001b[2Jpe\\u000anone  unique\\u202eness  "));
  EXPECT_THAT(text, HasSubstr("\nro\\u001b[2Jpe\\u000anone, unique\\u202eness: "
                              "fails\n  a\\u009bb\\u000ac\n"));
  EXPECT_THAT(text, HasSubstr("PROMISES BROKEN: ro\\u001b[2Jpe\\u000anone "
                              "unique\\u202eness\n"));
}

TEST(PropertyTableTest, DetailsShowTheWorkedCases) {
  EXPECT_THAT(FormatProperties(Response(false), {.details = true}),
              HasSubstr("rope, uniqueness: fails\n  the worked case\n"));
  EXPECT_THAT(FormatProperties(Response(false), {}),
              Not(HasSubstr("the worked case")));
}

}  // namespace
}  // namespace locus::client
