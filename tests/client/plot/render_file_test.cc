#include "client/plot/render_file.h"

#include "gtest/gtest.h"

namespace locus::client::plot {
namespace {

TEST(RenderFileTest, FormatDependsOnExtension) {
  EXPECT_EQ(*FormatOfPath("a.SVG"), Format::kSvg);
  EXPECT_EQ(*FormatOfPath("a.png"), Format::kPng);
  EXPECT_EQ(*FormatOfPath("-"), Format::kSvg);
  EXPECT_FALSE(FormatOfPath("a.gif").ok());
}

}  // namespace
}  // namespace locus::client::plot
