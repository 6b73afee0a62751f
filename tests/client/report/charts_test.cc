#include "client/report/charts.h"

#include <cmath>
#include <string>
#include <vector>

#include "client/report/manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"
#include "tests/client/report/manifest_text.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;

TEST(ChartsTest, DecidingMetricIsFirstAndBucketsAndUnitsShareOneChart) {
  std::vector<std::string> names;
  for (const NamedChart& chart : ChartsOf(*ParseManifest(ManifestText()))) {
    names.push_back(chart.name);
  }
  EXPECT_THAT(names, ElementsAre("nll", "nll_by_position", "drift"));
}

TEST(ChartsTest, SchemesThatDidNotLearnArePale) {
  const auto charts = ChartsOf(*ParseManifest(ManifestText()));
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

}  // namespace
}  // namespace locus::client
