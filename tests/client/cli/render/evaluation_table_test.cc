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
  EXPECT_THAT(text, HasSubstr("NOT LEARNED (0 of 3)"));
  EXPECT_THAT(text, HasSubstr("1.78 \xc2\xb1"
                              "0.1 *"));
  EXPECT_THAT(text, HasSubstr("Winner: alibi\n"));
}

TEST(EvaluationTableTest, ReportsMissingWinnerOnce) {
  Manifest manifest = *ParseManifest(ManifestText());
  manifest.summary.mutable_verdict()->set_winner("");
  manifest.summary.mutable_verdict()->set_text("No winner: none learned.");
  manifest.summary.mutable_verdict()->set_next_step("Try --steps 1000.");
  EXPECT_THAT(FormatEvaluation(manifest, 80),
              EndsWith("interval\n\nNo winner: none learned.\n"
                       "Try --steps 1000.\n"));
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

// The line of the table that begins with `name`.
std::string LineOf(const std::string& text, const std::string& name) {
  const size_t begin = text.find("\n" + name) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

// A manifest with the scheme `rope` at 64 and 128 tokens.
Manifest Ordering(double mean, double half_width, int64_t count) {
  Manifest manifest;
  manifest.experiment = "ordering";
  manifest.train_length = 64;
  for (const int64_t length : {64, 128}) {
    v1::EvaluationRow* row = manifest.summary.add_rows();
    row->set_scheme_name("rope");
    row->set_eval_length(length);
    row->set_metric("balanced_accuracy");
    row->set_mean(length == 64 ? 0.99 : mean);
    row->set_ci_low(row->mean() - half_width);
    row->set_ci_high(row->mean() + half_width);
    row->set_count(count);
  }
  v1::EvaluationGate* gate = manifest.summary.add_gates();
  gate->set_scheme_name("rope");
  gate->set_metric("balanced_accuracy");
  gate->set_threshold(0.85);
  gate->set_learned_share(1);
  gate->set_passed(true);
  gate->set_chance(0.5);
  return manifest;
}

TEST(EvaluationTableTest, StarsMarkOnlyResultsThatAreBetterThanChance) {
  EXPECT_EQ(LineOf(FormatEvaluation(Ordering(0.5, 0, 3), 80), "rope"),
            "rope    0.99 *  0.5     learned");
  EXPECT_EQ(LineOf(FormatEvaluation(Ordering(0.6, 0.2, 3), 80), "rope"),
            "rope    0.99 \xc2\xb1"
            "0.2 *  0.6 \xc2\xb1"
            "0.2  learned");
  EXPECT_EQ(LineOf(FormatEvaluation(Ordering(0.6, 0.01, 3), 80), "rope"),
            "rope    0.99 \xc2\xb1"
            "0.01 *  0.6 \xc2\xb1"
            "0.01 *  learned");
}

TEST(EvaluationTableTest, OneSeedHasNoStars) {
  EXPECT_THAT(FormatEvaluation(Ordering(0.9, 0, 1), 80), Not(HasSubstr("*")));
}

TEST(EvaluationTableTest, ShowsEffectiveLengthsAndSpreads) {
  Manifest manifest = Ordering(0.9, 0.02, 3);
  v1::EffectiveLength* effective = manifest.summary.add_effective_lengths();
  effective->set_scheme_name("rope");
  effective->set_metric("balanced_accuracy");
  effective->set_length(128);
  effective->set_ci_low(64);
  effective->set_ci_high(128);
  effective->set_threshold(0.1);
  v1::EvaluationSpread* spread = manifest.summary.add_spreads();
  spread->set_scheme_name("rope");
  spread->set_eval_length(128);
  spread->set_metric("balanced_accuracy");
  spread->set_min(0.8);
  spread->set_median(0.9);
  spread->set_max(1);
  spread->set_share_above_95(1.0 / 3);
  const std::string text = FormatEvaluation(manifest, 100);
  EXPECT_THAT(text, HasSubstr("at most 10 % worse than at 64"));
  EXPECT_THAT(text, HasSubstr("SCHEME  LEARNED  EFFECTIVE LENGTH"));
  EXPECT_THAT(text, HasSubstr("rope    3 of 3   \xe2\x89\xa5"
                              "128 (64 to \xe2\x89\xa5"
                              "128)  0.8           0.9     1     33%"));
}

TEST(EvaluationTableTest, FoldsWideTables) {
  Manifest manifest = Ordering(0.9, 0.02, 3);
  const std::string text = FormatEvaluation(manifest, 30);
  EXPECT_THAT(text, HasSubstr("SCHEME  AT 64\n"));
  EXPECT_THAT(text, HasSubstr("SCHEME  AT 128        IN RANGE\n"));
}

TEST(EvaluationTableTest, ShowsAnswersToQuestions) {
  Manifest manifest = Ordering(0.9, 0.02, 3);
  const auto add = [&](const char* scheme, double low, double high) {
    v1::OrderingAnswer* answer = manifest.summary.add_ordering_answers();
    answer->set_scheme_name(scheme);
    for (const int64_t value : {3, 1, 4, 2}) answer->add_values(value);
    answer->set_probability((low + high) / 2);
    answer->set_ci_low(low);
    answer->set_ci_high(high);
    answer->set_count(3);
  };
  add("rope", 0.01, 0.03);
  add("none", 0.4, 0.6);
  add("learned", 0.7, 0.9);
  add("alibi", 0, 1e-7);
  const std::string text = FormatEvaluation(manifest, 80);
  EXPECT_THAT(text, HasSubstr("Is 3, 1, 4, 2 sorted? It is not."));
  EXPECT_THAT(text, HasSubstr("rope     0.0200 \xc2\xb1"
                              "0.0100  not sorted\n"));
  EXPECT_THAT(text, HasSubstr("none     0.5000 \xc2\xb1"
                              "0.1000  undecided\n"));
  EXPECT_THAT(text, HasSubstr("learned  0.8000 \xc2\xb1"
                              "0.1000  sorted (wrong)\n"));
  EXPECT_THAT(text, HasSubstr("alibi    <0.0001         not sorted\n"));
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
