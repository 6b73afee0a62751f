#include "client/cli/support/help_text.h"

#include "absl/strings/str_split.h"
#include "client/cli/support/text_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

CommandNode Command() {
  return {
      .name = "draw",
      .help = "Draw a chart",
      .footer =
          "A chart has a title.\n\nExamples:\n  locus draw bars\n\n"
          "  a list\n  with lines",
      .options = {
          {.names = {"-h", "--help"}, .help = "Print this", .group = "Options"},
          {.names = {"kind"},
           .value = "KIND",
           .help = "Kind of chart",
           .positional = true,
           .required = true},
          {.names = {"-o", "--out"},
           .value = "FILE",
           .help = "File for the chart, which is written once the chart is "
                   "complete and replaces an older file",
           .group = "Options",
           .default_value = "a.svg"},
          {.names = {"--server"},
           .value = "HOST:PORT",
           .help = "Address",
           .variable = "LOCUS_SERVER",
           .group = kConnectionGroup},
          {.names = {"--timeout"},
           .value = "TIME",
           .help = "Deadline",
           .group = kConnectionGroup,
           .default_value = "5s"}}};
}

TEST(HelpTextTest, HasExamplesThenFlagsThenNotes) {
  EXPECT_EQ(HelpText(Command(), "locus draw", 60),
            R"(Draw a chart.

Usage: locus draw KIND [OPTIONS]

Examples:
  locus draw bars

Arguments:
  KIND  Kind of chart (required)

Options:
  -o, --out FILE  File for the chart, which is written once
                  the chart is complete and replaces an
                  older file (default a.svg)
  -h, --help      Print this

Connection: --server, --timeout (default 5s), TLS and
tokens; see `locus help connection`

A chart has a title.

  a list
  with lines
)");
}

TEST(HelpTextTest, ConnectionHelpDescribesFlagsAndVariables) {
  const std::string text = ConnectionHelp(Command(), 80);
  EXPECT_THAT(text, HasSubstr("\n  --server HOST:PORT  Address "
                              "(variable LOCUS_SERVER)\n"));
  EXPECT_THAT(text, Not(HasSubstr("--out")));
}

TEST(HelpTextTest, LongExamplesAreContinuedLines) {
  EXPECT_EQ(WrapExample("  locus draw --title 'two words' --out file.svg", 36),
            "  locus draw --title 'two words' \\\n"
            "      --out file.svg\n");
  EXPECT_EQ(WrapExample("  locus draw", 36), "  locus draw\n");
}

TEST(HelpTextTest, CommentsOfLongExamplesComeFirst) {
  EXPECT_EQ(WrapExample("  locus draw --color never   # without colour", 36),
            "  # without colour\n  locus draw --color never\n");
}

TEST(HelpTextTest, ChoicesAreListedAfterAColon) {
  EXPECT_THAT(
      ChoicesIn("Theme of the chart: auto, light or dark; default auto"),
      ElementsAre("auto", "light", "dark"));
  EXPECT_THAT(ChoicesIn("Layout: half-split, or interleaved"),
              ElementsAre("half-split", "interleaved"));
}

TEST(HelpTextTest, OtherDescriptionsHaveNoChoices) {
  for (const char* const description :
       {"File for the chart", "Positions: 0:16, 0,5,9 or @ids.npy",
        "Heads; default: all", "Cap at X: X tanh(score / X)",
        "Mask: bool (true is visible), or floats"}) {
    EXPECT_THAT(ChoicesIn(description), IsEmpty()) << description;
  }
}

}  // namespace
}  // namespace locus::client
