#include "client/load/progress_line.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Interval kInterval{.from_seconds = 2,
                             .to_seconds = 3,
                             .ok = 1000,
                             .failed = 2,
                             .in_flight = 4,
                             .p50 = 180000,
                             .p99 = 1210000,
                             .max = 2040000};

TEST(FormatProgressLineTest, ContainsRateFailuresAndPercentiles) {
  EXPECT_EQ(FormatProgressLine(kInterval, false),
            "3s  1000/s  2 failed  4 in flight  p50 180us  p99 1.21ms  "
            "max 2.04ms");
  EXPECT_THAT(FormatProgressLine(kInterval, true),
              HasSubstr("3s (warm-up)  1000/s"));
  EXPECT_EQ(FormatProgressLine({.to_seconds = 1, .failed = 3}, false),
            "1s  0/s  3 failed  0 in flight");
}

// Returns everything that a progress line writes for one interval.
std::string Written(ProgressLineOptions options) {
  std::string written;
  options.write = [&written](absl::string_view text) {
    written.append(text.data(), text.size());
  };
  ProgressLine line(options);
  line.Update(kInterval);
  line.Clear();
  return written;
}

TEST(ProgressLineTest, RedrawsAndErasesLineOnTerminal) {
  EXPECT_EQ(Written({.columns = 12}), "\r\x1b[K3s  1000/s \r\x1b[K");
}

TEST(ProgressLineTest, WritesPlainLinesWithoutTerminal) {
  EXPECT_EQ(Written({.prefix = "at 1000/s: "}),
            "at 1000/s: " + FormatProgressLine(kInterval, false) + "\n");
}

TEST(ProgressLineTest, MarksWarmUp) {
  EXPECT_THAT(Written({.warm_up_seconds = 3}), HasSubstr("warm-up"));
  EXPECT_THAT(Written({.warm_up_seconds = 2}), Not(HasSubstr("warm-up")));
}

TEST(ProgressLineTest, WritesNothingIfQuiet) {
  EXPECT_EQ(Written({.quiet = true}), "");
}

}  // namespace
}  // namespace locus::client::load
