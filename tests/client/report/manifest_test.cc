#include "client/report/manifest.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/render/evaluation_table.h"
#include "client/report/charts.h"
#include "client/report/html.h"
#include "client/report/metric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the text of a manifest.
std::string Text() {
  std::ostringstream text;
  text << std::ifstream(LOCUS_SOURCE_DIR "/tests/client/report/manifest.json")
              .rdbuf();
  return text.str();
}

TEST(ManifestTest, ReadsManifest) {
  const auto manifest = ParseManifest(Text());
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
      Text(), {{"\"mean\": 3.112", "\"mean\": \"Infinity\""}}));
  ASSERT_TRUE(manifest.ok());
  EXPECT_TRUE(std::isinf(FindRow(*manifest, "rope", 512, "nll")->mean()));
}

TEST(ManifestTest, RejectsLengthsBelowOne) {
  for (const char* name : {"train_length", "eval_length"}) {
    for (const char* value : {"0", "-64"}) {
      const auto manifest = ParseManifest(absl::StrReplaceAll(
          Text(), {{absl::StrCat("\"", name, "\": 64"),
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
  EXPECT_THAT(ParseManifest(absl::StrReplaceAll(
                                Text(), {{"\"mean\": 3.112", "\"mean\": []"}}))
                  .status()
                  .message(),
              HasSubstr("].mean should be a number"));
}

TEST(ChartsTest, DecidingMetricIsFirstAndBucketsShareOneChart) {
  std::vector<std::string> names;
  for (const NamedChart& chart : ChartsOf(*ParseManifest(Text()))) {
    names.push_back(chart.name);
  }
  EXPECT_THAT(names,
              ElementsAre("nll", "nll_by_position", "bits_per_byte", "drift"));
}

TEST(ChartsTest, SchemesThatDidNotLearnArePale) {
  const auto charts = ChartsOf(*ParseManifest(Text()));
  EXPECT_TRUE(charts[0].chart.curves[0].pale);
  EXPECT_EQ(charts[0].chart.curves[0].name, "none (not learned)");
  EXPECT_FALSE(charts[0].chart.curves[1].pale);
}

TEST(ChartsTest, MapsAreRelativeToUniformAttention) {
  std::vector<v1::EvaluationCell> cells(2);
  for (int i = 0; i < 2; ++i) {
    cells[i].set_scheme_name("rope");
    cells[i].set_eval_length(4 * (i + 1));
    const std::vector<double> even(2 * 4, 1.0 / (4 * (i + 1)));
    *cells[i].mutable_attention_map() = *MakeTensor<double>({2, 2, 2}, even);
  }
  const auto grid = AttentionMaps(cells, 4);
  ASSERT_TRUE(grid.ok());
  EXPECT_EQ(grid->panels_per_row, 2);
  ASSERT_EQ(grid->panels.size(), 2u);
  EXPECT_THAT(grid->panels[0].values, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(grid->panels[1].values, ElementsAre(1, 1, 1, 1));
}

TEST(ChartsTest, RejectsMalformedMaps) {
  std::vector<v1::EvaluationCell> cells(1);
  *cells[0].mutable_attention_map() =
      *MakeTensor<double>({2}, std::vector<double>{1, 2});
  EXPECT_FALSE(AttentionMaps(cells, 4).ok());
}

TEST(ChartsTest, IgnoresUndrawableValuesInRangeOfMaps) {
  std::vector<v1::EvaluationCell> cells(1);
  cells[0].set_eval_length(1);
  *cells[0].mutable_attention_map() = *MakeTensor<double>(
      {1, 1, 4}, std::vector<double>{std::nan(""), INFINITY, 1e308, 1});
  const auto grid = AttentionMaps(cells, 4);
  ASSERT_TRUE(grid.ok());
  EXPECT_EQ(grid->range->high, 2);
}

TEST(ReportTest, DrawsUndrawableNumbersAsGaps) {
  const std::string html =
      MakeReport(*ParseManifest(absl::StrReplaceAll(
                     Text(), {{"\"mean\": 3.112", "\"mean\": 1e308"},
                              {"\"mean\": 1.78,", "\"mean\": -1e308,"}})),
                 std::nullopt);
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1e308</td>"));
  EXPECT_THAT(html, Not(HasSubstr("\"nan")));
}

TEST(ReportTest, KeepsFullPrecisionOfRoundedNumbers) {
  const std::string html =
      MakeReport(*ParseManifest(absl::StrReplaceAll(
                     Text(), {{"\"mean\": 3.112", "\"mean\": 3.11234567"}})),
                 std::nullopt);
  EXPECT_THAT(html, HasSubstr("<td class=\"n\" title=\"3.11234567\">3.112<"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1.78</td>"));
}

TEST(ReportTest, HasNoScriptsOrExternalResources) {
  const std::string html = MakeReport(*ParseManifest(Text()), std::nullopt);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(absl::StrReplaceAll(html, {{"http://www.w3.org/2000/svg", ""}}),
              Not(HasSubstr("http")));
}

TEST(ReportTest, EscapesNames) {
  const std::string html =
      MakeReport(*ParseManifest(absl::StrReplaceAll(
                     Text(), {{"alibi", "<img/onerror=1>"}})),
                 std::nullopt);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
}

TEST(ReportTest, MarksPartialResults) {
  const auto manifest = ParseManifest(absl::StrReplaceAll(
      Text(), {{"\"partial\": false", "\"partial\": true"}}));
  EXPECT_THAT(MakeReport(*manifest, std::nullopt), HasSubstr("Partial."));
  EXPECT_THAT(FormatEvaluation(*manifest, 80), HasSubstr("PARTIAL"));
}

TEST(EvaluationTableTest, ContainsMeansIntervalsGatesAndWinner) {
  const std::string text = FormatEvaluation(*ParseManifest(Text()), 80);
  EXPECT_THAT(text, HasSubstr("lower is better; trained at 64"));
  EXPECT_THAT(text, HasSubstr("NOT LEARNED (0% of seeds)"));
  EXPECT_THAT(text, HasSubstr("1.78 \xc2\xb1"
                              "0.1 *"));
  EXPECT_THAT(text, HasSubstr("Winner: alibi\n"));
}

TEST(EvaluationTableTest, ReportsMissingWinnerOnce) {
  Manifest manifest = *ParseManifest(Text());
  manifest.summary.clear_winner();
  manifest.summary.set_reason("No winner: no scheme learned the task.");
  EXPECT_THAT(
      FormatEvaluation(manifest, 80),
      ::testing::EndsWith("seeds\n\nNo winner: no scheme learned the task.\n"));
}

TEST(EvaluationTableTest, FormatsCellsAsCsv) {
  v1::EvaluationCell cell;
  cell.set_scheme_name("a\"b");
  cell.set_eval_length(64);
  (*cell.mutable_metrics())["nll"] = 0.5;
  EXPECT_EQ(CellsCsv({cell}),
            "scheme,seed,length,metric,value\n\"a\"\"b\",0,64,nll,0.5\n");
}

TEST(MetricTest, ParsesBucketsFromNames) {
  EXPECT_EQ(BucketOf("nll_bucket_64_128")->end, 128);
  EXPECT_FALSE(BucketOf("nll").has_value());
  EXPECT_FALSE(BucketOf("nll_bucket_x").has_value());
  EXPECT_FALSE(BucketOf("nll_bucket_nan_nan").has_value());
  EXPECT_FALSE(BucketOf("nll_bucket_0_inf").has_value());
  EXPECT_FALSE(BucketOf("nll_bucket_-4_0").has_value());
}

TEST(MetricTest, PairAccuracyHasNoChanceLevel) {
  EXPECT_FALSE(MetricOf("pair_accuracy").chance.has_value());
  EXPECT_THAT(MetricOf("pair_accuracy").meaning, HasSubstr("right person"));
}

TEST(MetricTest, OrderAccuracyHasChanceLevelOfOneHalf) {
  EXPECT_EQ(MetricOf("order_accuracy").chance, 0.5);
  EXPECT_THAT(MetricOf("order_accuracy").meaning, HasSubstr("works he"));
}

TEST(MetricTest, UnknownMetricsKeepTheirName) {
  EXPECT_EQ(MetricOf("surprise").title, "surprise");
}

}  // namespace
}  // namespace locus::client
