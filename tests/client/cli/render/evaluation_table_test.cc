#include "client/cli/render/evaluation_table.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "client/report/manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/report/manifest_text.h"

namespace locus::client {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_THAT(FormatEvaluation(manifest, 80),
              EndsWith("seeds\n\nNo winner: no scheme learned the task.\n"));
}

TEST(EvaluationTableTest, PartialResultsHaveNoWinner) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"\"partial\": false", "\"partial\": true"}}));
  const std::string text = FormatEvaluation(*manifest, 80);
  EXPECT_THAT(text,
              EndsWith("\n\nPARTIAL: the deadline passed or the server shut "
                       "down; these are the finished cells.\n"
                       "\nNo winner: the evaluation is partial.\n"));
  // No cell is marked as the best one.
  EXPECT_THAT(text, Not(HasSubstr("*")));
}

TEST(EvaluationTableTest, EscapesNames) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      ManifestText(), {{"alibi", "ali\\u001bbi\u202e\\nrope"}}));
  EXPECT_THAT(FormatEvaluation(*manifest, 80),
              AllOf(HasSubstr("\nali\\u001bbi\\u202e\\u000arope  "),
                    HasSubstr("\nWinner: ali\\u001bbi\\u202e\\u000arope\n")));
}

TEST(EvaluationTableTest, FormatsCellsAsCsv) {
  v1::EvaluationCell cell;
  cell.set_scheme_name("a\"b");
  cell.set_eval_length(64);
  (*cell.mutable_metrics())["nll"] = 0.5;
  EXPECT_EQ(CellsCsv({cell}),
            "scheme,seed,length,metric,value\n\"a\"\"b\",0,64,nll,0.5\n");
}

TEST(EvaluationTableTest, CsvKeepsHostileNamesInTheirField) {
  v1::EvaluationCell cell;
  cell.set_scheme_name("a\n\x1b");
  cell.set_eval_length(64);
  (*cell.mutable_metrics())["n,\"l\nl"] = 0.5;
  EXPECT_EQ(CellsCsv({cell}),
            "scheme,seed,length,metric,value\n"
            "\"a\\u000a\\u001b\",0,64,\"n,\"\"l\\u000al\",0.5\n");
}

}  // namespace
}  // namespace locus::client
