#include "client/cli/support/color.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

// Restores the state in which unit tests run.
class ColorTest : public testing::Test {
 protected:
  ~ColorTest() override { SetColor("never").IgnoreError(); }
};

TEST_F(ColorTest, NothingHasColorUntilItIsSet) {
  EXPECT_EQ(Bold("x"), "x");
  EXPECT_EQ(OnBackground({255, 0, 0}, "x"), "x");
  EXPECT_EQ(ErrorPrefix(), "locus:");
}

TEST_F(ColorTest, AlwaysStylesText) {
  ASSERT_TRUE(SetColor("always").ok());
  EXPECT_EQ(Bold("x"), "\x1b[1mx\x1b[0m");
  EXPECT_EQ(Good("x"), "\x1b[32mx\x1b[0m");
  EXPECT_EQ(Bad(""), "");
  EXPECT_EQ(ErrorPrefix(), "\x1b[1;31mlocus:\x1b[0m");
}

TEST_F(ColorTest, BackgroundHas24BitsOnlyIfAnnounced) {
  ASSERT_TRUE(SetColor("always").ok());
  ASSERT_EQ(setenv("COLORTERM", "truecolor", 1), 0);
  EXPECT_EQ(OnBackground({10, 20, 30}, "x"),
            "\x1b[38;5;231;48;2;10;20;30mx\x1b[0m");
  ASSERT_EQ(unsetenv("COLORTERM"), 0);
  EXPECT_EQ(OnBackground({255, 255, 0}, "x"), "\x1b[38;5;16;48;5;226mx\x1b[0m");
}

TEST_F(ColorTest, OtherModesAreRejected) {
  EXPECT_EQ(SetColor("sometimes").message(),
            "--color: is \"sometimes\"; must be auto, always or never");
}

TEST_F(ColorTest, PrintableKeepsColorSequencesOnly) {
  EXPECT_EQ(PrintableWithColor("a\x1b[1mb\x1b[0m\n"), "a\x1b[1mb\x1b[0m\n");
  EXPECT_EQ(PrintableWithColor("\x1b[2J\x1b]0;t\x07"),
            "\\u001b[2J\\u001b]0;t\\u0007");
  EXPECT_EQ(PrintableWithColor("\x1b["), "\\u001b[");
  EXPECT_EQ(PrintableWithColor("\x1b[1\x1b[1m"), "\\u001b[1\x1b[1m");
}

}  // namespace
}  // namespace locus::client
