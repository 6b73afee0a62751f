#include "client/report/manifest.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/manifest_text.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ManifestTest, ReadsManifest) {
  const auto manifest = ParseManifest(ManifestText());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->train_length, 64);
  EXPECT_EQ(manifest->summary.winner(), "alibi");
  EXPECT_THAT(LengthsOf(*manifest), ElementsAre(64, 128, 256, 512));
  EXPECT_EQ(SchemesOf(*manifest).front(), "none");
  EXPECT_EQ(MetricsOf(*manifest).front(), "nll");
  EXPECT_EQ(FindRow(*manifest, "rope", 512, "nll")->mean(), 3.112);
  EXPECT_FALSE(FindGate(*manifest, "none")->passed());
  EXPECT_EQ(FindRow(*manifest, "rope", 7, "nll"), nullptr);
}

TEST(ManifestTest, ReadsNonFiniteNumbersFromStrings) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"\"mean\": 3.112", "\"mean\": \"Infinity\""}}));
  ASSERT_TRUE(manifest.ok());
  EXPECT_TRUE(std::isinf(FindRow(*manifest, "rope", 512, "nll")->mean()));
}

TEST(ManifestTest, RejectsLengthsBelowOne) {
  for (const char* name : {"train_length", "eval_length"}) {
    for (const char* value : {"0", "-64"}) {
      const auto manifest = ParseManifest(absl::StrReplaceAll(
          ManifestText(), {{absl::StrCat("\"", name, "\": 64"),
                            absl::StrCat("\"", name, "\": ", value)}}));
      EXPECT_THAT(std::string(manifest.status().message()),
                  HasSubstr(absl::StrCat(name, ": is ", value,
                                         "; must be at least 1")));
    }
  }
}

TEST(ManifestTest, NamesMissingFields) {
  EXPECT_THAT(ParseManifest("[]").status().message(),
              HasSubstr("not a JSON object"));
  EXPECT_THAT(ParseManifest("{\"experiment\": 3}").status().message(),
              HasSubstr("experiment should be a string"));
  EXPECT_THAT(
      ParseManifest(absl::StrReplaceAll(ManifestText(),
                                        {{"\"mean\": 3.112", "\"mean\": []"}}))
          .status()
          .message(),
      HasSubstr("].mean should be a number"));
}

}  // namespace
}  // namespace locus::client
