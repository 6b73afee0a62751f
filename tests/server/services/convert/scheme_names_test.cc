#include "server/services/convert/scheme_names.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::EvaluateExtrapolationRequest RequestOf(const std::string& text) {
  v1::EvaluateExtrapolationRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("trained { copy {} } ", text), &request))
      << text;
  return request;
}

// The names of the schemes of a request in text form.
std::vector<std::string> NamesOf(const std::string& text) {
  const auto plan = ToEvaluationPlan(RequestOf(text));
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<std::string> names;
  if (!plan.ok()) return names;
  for (const NamedScheme& scheme : plan->schemes) names.push_back(scheme.name);
  return names;
}

absl::Status ErrorOf(const std::string& text) {
  return ToEvaluationPlan(RequestOf(text)).status();
}

TEST(SchemeNamesTest, AreTheKindsIfTheseDiffer) {
  EXPECT_THAT(NamesOf("schemes { rope { base: 500 } } schemes { alibi {} }"),
              ElementsAre("rope", "alibi"));
}

TEST(SchemeNamesTest, ContainTheDifferenceAndDefaultsThatAreTheDifference) {
  EXPECT_THAT(NamesOf("schemes { rope {} } schemes { rope { base: 500000 } } "
                      "schemes { rope { yarn { factor: 4 } } }"),
              ElementsAre("rope base=10000", "rope base=500000",
                          "rope yarn\xc3\x97"
                          "4"));
}

TEST(SchemeNamesTest, OmitWhatIsEqual) {
  EXPECT_THAT(NamesOf("schemes { rope { base: 500000 } } "
                      "schemes { rope { base: 500000 yarn { factor: 4 } } }"),
              ElementsAre("rope",
                          "rope yarn\xc3\x97"
                          "4"));
}

TEST(SchemeNamesTest, ContainParametersOfAScalingOnlyIfTheyDiffer) {
  EXPECT_THAT(
      NamesOf("schemes { rope { yarn { factor: 4 original_length: 32 } } } "
              "schemes { rope { yarn { factor: 4 original_length: 64 } } } "
              "schemes { rope { linear { factor: 2.5 } } }"),
      ElementsAre("rope yarn\xc3\x97"
                  "4 original_length=32",
                  "rope yarn\xc3\x97"
                  "4 original_length=64",
                  "rope linear\xc3\x97"
                  "2.5"));
}

TEST(SchemeNamesTest, ContainChoicesFlagsAndLists) {
  EXPECT_THAT(NamesOf("schemes { rope {} } "
                      "schemes { rope { layout: ROPE_LAYOUT_HALF_SPLIT } } "
                      "schemes { alibi { slopes: [1, 0.5, 0.25, 0.125] } } "
                      "schemes { alibi {} }"),
              ElementsAre("rope layout=INTERLEAVED", "rope layout=HALF_SPLIT",
                          "alibi slopes=[1,0.5,0.25,...]", testing::_));
}

TEST(SchemeNamesTest, NumberEqualSchemes) {
  EXPECT_THAT(NamesOf("schemes { none {} } schemes { none {} }"),
              ElementsAre("none (1)", "none (2)"));
  EXPECT_THAT(
      NamesOf("schemes { rope {} } schemes { rope { base: 5 } } "
              "schemes { rope {} }"),
      ElementsAre("rope base=10000 (1)", "rope base=5", "rope base=10000 (2)"));
}

TEST(SchemeNamesTest, LayersAndRandomPositionsAreCompared) {
  EXPECT_THAT(NamesOf("schemes { rope {} } schemes { rope {} layers {} } "
                      "schemes { rope {} randomized { maximum: 300 } } "
                      "schemes { rope {} randomized { maximum: 400 } } "
                      "schemes { alibi {} layers { window: 4 } } "
                      "schemes { alibi {} layers {} }"),
              ElementsAre("rope", "rope+none", "rope_randomized maximum=300",
                          "rope_randomized maximum=400", "alibi+none window=4",
                          "alibi+none window=0"));
}

TEST(SchemeNamesTest, LabelsAreUsedAsTheyAre) {
  EXPECT_THAT(
      NamesOf("schemes { rope { base: 500000 } label: 'long r\303\266pe' } "
              "schemes { rope {} }"),
      ElementsAre("long r\xc3\xb6pe", "rope"));
}

TEST(SchemeNamesTest, LabelsAreUnique) {
  const absl::Status twice =
      ErrorOf("schemes { rope {} label: 'x' } schemes { alibi {} label: 'x' }");
  EXPECT_EQ(FieldOf(twice), "schemes[1].label");
  EXPECT_THAT(std::string(twice.message()),
              HasSubstr("is 'x', which is also the name of schemes[0]"));
  EXPECT_EQ(FieldOf(ErrorOf(
                "schemes { rope {} label: 'alibi' } schemes { alibi {} }")),
            "schemes[0].label");
}

TEST(SchemeNamesTest, LabelsHaveALimitAndNoControlCharacters) {
  EXPECT_THAT(NamesOf(absl::StrCat("schemes { rope {} label: '",
                                   std::string(64, 'x'), "' }")),
              ElementsAre(std::string(64, 'x')));
  const absl::Status long_label = ErrorOf(
      absl::StrCat("schemes { rope {} label: '", std::string(65, 'x'), "' }"));
  EXPECT_EQ(FieldOf(long_label), "schemes[0].label");
  EXPECT_THAT(std::string(long_label.message()),
              HasSubstr("has 65 characters; at most 64"));
  for (const char* const label : {"a\\nb", "\\033[1m", "\\342\\200\\256"}) {
    EXPECT_EQ(FieldOf(ErrorOf(
                  absl::StrCat("schemes { rope {} label: '", label, "' }"))),
              "schemes[0].label")
        << label;
  }
}

TEST(SchemeNamesTest, SchemesOfLayersHaveNoLabel) {
  EXPECT_EQ(FieldOf(ErrorOf("schemes { rope {} layers { others { scheme { none "
                            "{} label: 'x' } } } }")),
            "schemes[0].layers.others[0].scheme.label");
}

TEST(SchemeNamesTest, PropertyChecksUseTheSameNames) {
  v1::CheckPropertiesRequest request;
  request.add_schemes()->mutable_rope();
  request.add_schemes()->mutable_rope()->set_base(7);
  request.add_schemes()->mutable_rope();
  request.mutable_schemes(2)->set_label("mine");
  const auto plan = ToPropertiesPlan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->schemes[0].name, "rope base=10000");
  EXPECT_EQ(plan->schemes[1].name, "rope base=7");
  EXPECT_EQ(plan->schemes[2].name, "mine");
}

}  // namespace
}  // namespace locus::server
