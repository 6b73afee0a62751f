#include "client/report/manifest_details.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/manifest_text.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns the manifest of the tests with further members.
Manifest With(const std::string& members) {
  return *ParseManifest(absl::StrReplaceAll(
      ManifestText(),
      {{"\"partial\": false", absl::StrCat("\"partial\": false, ", members)}}));
}

TEST(ManifestDetailsTest, OldManifestsHaveNone) {
  const Manifest manifest = *ParseManifest(ManifestText());
  EXPECT_THAT(TrainingCurvesOf(manifest), IsEmpty());
  EXPECT_THAT(EffectiveLengthsOf(manifest), IsEmpty());
  EXPECT_THAT(SpreadsOf(manifest), IsEmpty());
  EXPECT_EQ(VerdictOf(manifest).winner, "alibi");
  EXPECT_EQ(VerdictOf(manifest).text, manifest.summary.reason());
  EXPECT_EQ(SeedCountOf(manifest), 3);
}

TEST(ManifestDetailsTest, ReadsTrainingCurves) {
  const auto curves = TrainingCurvesOf(
      With("\"training_curves\": [{\"scheme\": \"rope\", \"seed\": 2, "
           "\"steps\": [10, 20], \"losses\": [3.5, 2.5]}, {\"scheme\": "
           "\"rope\", \"seed\": 3, \"steps\": [10], \"losses\": [1, 2]}, "
           "{\"scheme\": 7}]"));
  ASSERT_THAT(curves, SizeIs(1));
  EXPECT_EQ(curves[0].seed, 2);
  EXPECT_THAT(curves[0].steps, ElementsAre(10, 20));
  EXPECT_THAT(curves[0].losses, ElementsAre(3.5, 2.5));
}

TEST(ManifestDetailsTest, ReadsEffectiveLengthsAndSpreads) {
  const Manifest manifest = With(
      "\"effective_lengths\": [{\"scheme\": \"rope\", \"metric\": "
      "\"nll\", \"length\": 128, \"ci_low\": 64, \"ci_high\": 256, "
      "\"threshold\": 0.1}], \"spreads\": [{\"scheme\": \"rope\", "
      "\"eval_length\": 64, \"metric\": \"accuracy\", \"min\": 0.1, "
      "\"q25\": 0.2, \"median\": 0.3, \"q75\": 0.4, \"max\": 0.5, "
      "\"share_above_95\": 0.25}]");
  ASSERT_THAT(EffectiveLengthsOf(manifest), SizeIs(1));
  EXPECT_EQ(EffectiveLengthsOf(manifest)[0].ci_high, 256);
  ASSERT_THAT(SpreadsOf(manifest), SizeIs(1));
  EXPECT_EQ(SpreadsOf(manifest)[0].q75, 0.4);
  EXPECT_EQ(SpreadsOf(manifest)[0].share_above_95, 0.25);
}

TEST(ManifestDetailsTest, PartialEvaluationHasNoWinner) {
  const Manifest manifest = *ParseManifest(absl::StrReplaceAll(
      ManifestText(),
      {{"\"partial\": false",
        "\"partial\": true, \"verdict\": {\"winner\": \"rope\", \"text\": "
        "\"rope wins\"}"}}));
  EXPECT_EQ(VerdictOf(manifest).winner, "");
}

}  // namespace
}  // namespace locus::client
