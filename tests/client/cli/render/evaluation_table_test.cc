#include "client/cli/render/evaluation_table.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "client/report/manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/manifest_text.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;

TEST(EvaluationTableTest, ContainsMeansIntervalsGatesAndWinner) {
  const std::string text = FormatEvaluation(*ParseManifest(ManifestText()), 80);
  EXPECT_THAT(text, HasSubstr("lower is better; trained at 64"));
  EXPECT_THAT(text, HasSubstr("NOT LEARNED (0% of seeds)"));
  EXPECT_THAT(text, HasSubstr("1.78 \xc2\xb1"
                              "0.1 *"));
  EXPECT_THAT(text, HasSubstr("Winner: alibi\n"));
}

TEST(EvaluationTableTest, ReportsMissingWinnerOnce) {
  Manifest manifest = *ParseManifest(ManifestText());
  manifest.summary.clear_winner();
  manifest.summary.set_reason("No winner: no scheme learned the task.");
  EXPECT_THAT(
      FormatEvaluation(manifest, 80),
      ::testing::EndsWith("seeds\n\nNo winner: no scheme learned the task.\n"));
}

TEST(EvaluationTableTest, MarksPartialResults) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"\"partial\": false", "\"partial\": true"}}));
  EXPECT_THAT(FormatEvaluation(*manifest, 80), HasSubstr("PARTIAL"));
}

TEST(EvaluationTableTest, FormatsCellsAsCsv) {
  v1::EvaluationCell cell;
  cell.set_scheme_name("a\"b");
  cell.set_eval_length(64);
  (*cell.mutable_metrics())["nll"] = 0.5;
  EXPECT_EQ(CellsCsv({cell}),
            "scheme,seed,length,metric,value\n\"a\"\"b\",0,64,nll,0.5\n");
}

}  // namespace
}  // namespace locus::client
