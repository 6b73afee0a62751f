#include "server/observability/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace locus::server {
namespace {

TEST(LogTest, WritesOneJsonObjectPerLine) {
  const std::string text = LogLine("info", "call")
                               .Add("method", "/a/b")
                               .Add("queue_us", int64_t{-7})
                               .Finish();
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto line = nlohmann::json::parse(text);
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["event"], "call");
  EXPECT_EQ(line["method"], "/a/b");
  EXPECT_EQ(line["queue_us"], -7);
  EXPECT_THAT(
      line["ts"].get<std::string>(),
      ::testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T"
                              "[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z"));
}

TEST(LogTest, EscapesHostileStrings) {
  const std::string hostile("\"},\n{\t\\\x01\x7f\0end", 14);
  const std::string text = LogLine("info", "x").Add("error", hostile).Finish();
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(text)["error"].get<std::string>(), hostile);
}

TEST(LogTest, EscapesDeceptiveCharacters) {
  const std::string hostile =
      "a\u0085\u009b31m\u2028\u2029\u202eb\u2067\u200f\u061c";
  const std::string text = LogLine("info", "x").Add("error", hostile).Finish();
  EXPECT_NE(
      text.find("\\u0085\\u009b31m\\u2028\\u2029\\u202eb\\u2067\\u200f\\u061c"),
      std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text)["error"].get<std::string>(), hostile);
  const std::string harmless = "gr\u00fc\u00dfe \u4f60\u597d \U0001f600 \u2027";
  EXPECT_NE(LogLine("info", "x").Add("a", harmless).Finish().find(harmless),
            std::string::npos);
}

TEST(LogTest, ReplacesInvalidUtf8) {
  const std::string text =
      LogLine("info", "x").Add("error", "\xff\xe2\x82\u00e9").Finish();
  EXPECT_EQ(nlohmann::json::parse(text)["error"].get<std::string>(),
            "\ufffd\ufffd\ufffd\u00e9");
}

TEST(LogTest, WritesToStandardErrorInOrder) {
  const LogLine line("info", "x");
  ::testing::internal::CaptureStderr();
  WriteLog(line);
  WriteLogText("plain\n");
  EXPECT_TRUE(FlushLog(std::chrono::seconds(60)));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            line.Finish() + "plain\n");
  EXPECT_EQ(DroppedLogLines(), 0);
}

}  // namespace
}  // namespace locus::server
