#include "client/load/units.h"

#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

TEST(UnitsTest, ParsesDurations) {
  EXPECT_EQ(ParseNanos("5ms").value(), 5000000);
  EXPECT_EQ(ParseNanos("1.5s").value(), 1500000000);
  EXPECT_EQ(ParseNanos("250us").value(), 250000);
  EXPECT_EQ(ParseNanos("2").value(), 2000000000);
  EXPECT_EQ(ParseNanos("0").value(), 0);
  EXPECT_EQ(ParseNanos("1h").value(), 3600000000000);
}

TEST(UnitsTest, RejectsInvalidDurations) {
  for (const char* text : {"", "soon", "-1s", "1h1s", "inf", "nan", "5 x"}) {
    EXPECT_FALSE(ParseNanos(text).ok()) << text;
  }
}

TEST(UnitsTest, ParsesRatios) {
  EXPECT_DOUBLE_EQ(ParseShare("0.1%").value(), 0.001);
  EXPECT_DOUBLE_EQ(ParseShare("0.001").value(), 0.001);
  EXPECT_DOUBLE_EQ(ParseShare("100%").value(), 1);
  for (const char* text : {"", "%", "101%", "1.1", "-1%", "nan"}) {
    EXPECT_FALSE(ParseShare(text).ok()) << text;
  }
}

TEST(UnitsTest, ParsesSizes) {
  EXPECT_EQ(ParseBytes("4096").value(), 4096);
  EXPECT_EQ(ParseBytes("64KiB").value(), 65536);
  EXPECT_EQ(ParseBytes("1.5MB").value(), 1500000);
  EXPECT_EQ(ParseBytes("7B").value(), 7);
  for (const char* text : {"", "KiB", "0", "-1", "2GiB", "much", "nan"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

TEST(UnitsTest, FormatsDurationsWithThreeDigits) {
  EXPECT_EQ(FormatNanos(0), "0ns");
  EXPECT_EQ(FormatNanos(820), "820ns");
  EXPECT_EQ(FormatNanos(37249), "37.2us");
  EXPECT_EQ(FormatNanos(999499), "999us");
  EXPECT_EQ(FormatNanos(999500), "1.00ms");
  EXPECT_EQ(FormatNanos(1234567), "1.23ms");
  EXPECT_EQ(FormatNanos(61.5e9), "61.5s");
}

TEST(UnitsTest, FormatsRatesAndSizes) {
  EXPECT_EQ(FormatRate(19998.4), "19998");
  EXPECT_EQ(FormatRate(0.25), "0.25");
  EXPECT_EQ(FormatRate(100), "100");
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(3 << 20), "3 MiB");
}

}  // namespace
}  // namespace locus::client::load
