#include "server/observability/log.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/base/utf8.h"
#include "server/observability/log_writer.h"

namespace locus::server {
namespace {

// The current time as RFC 3339 in UTC, with microseconds.
std::string Timestamp() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = micros / 1'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return absl::StrFormat(
      "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", utc.tm_year + 1900, utc.tm_mon + 1,
      utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, micros % 1'000'000);
}

// Appends one ASCII character, escaped as JSON requires.
void AppendEscaped(char c, std::string* out) {
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      out->push_back(c);
  }
}

// Appends one UTF-8 character, escaped if it is deceptive. An empty `character`
// stands for an invalid byte and is replaced by U+FFFD.
void AppendCharacter(absl::string_view character, std::string* out) {
  if (character.empty()) {
    out->append("\xef\xbf\xbd");
    return;
  }
  const uint32_t code_point = CodePointOf(character);
  if (IsDeceptive(code_point) && code_point != '\n' && code_point != '\r' &&
      code_point != '\t') {
    absl::StrAppendFormat(out, "\\u%04x", code_point);
  } else if (character.size() == 1) {
    AppendEscaped(character[0], out);
  } else {
    out->append(character.data(), character.size());
  }
}

// The writer of standard error. It is never destroyed, so that threads can log
// until the process ends, and a blocked write() does not delay the exit.
LogWriter& StandardErrorWriter() {
  static auto* const writer = new LogWriter({.fd = STDERR_FILENO});
  return *writer;
}

}  // namespace

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    AppendCharacter(text.substr(0, length), out);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out->push_back('"');
}

LogLine::LogLine(absl::string_view level, absl::string_view event) {
  text_.reserve(384);
  Add("ts", Timestamp());
  Add("level", level);
  Add("event", event);
}

void LogLine::Key(absl::string_view key) {
  absl::StrAppend(&text_, text_.empty() ? "{\"" : ",\"", key, "\":");
}

LogLine& LogLine::Add(absl::string_view key, absl::string_view value) {
  Key(key);
  AppendJsonString(value, &text_);
  return *this;
}

LogLine& LogLine::Add(absl::string_view key, const char* value) {
  return Add(key, absl::string_view(value));
}

LogLine& LogLine::Add(absl::string_view key, int64_t value) {
  Key(key);
  absl::StrAppend(&text_, value);
  return *this;
}

LogLine& LogLine::Add(absl::string_view key, int value) {
  return Add(key, int64_t{value});
}

std::string LogLine::Finish() const { return absl::StrCat(text_, "}\n"); }

void WriteLog(const LogLine& line) { WriteLogText(line.Finish()); }

void WriteLogText(std::string line) {
  StandardErrorWriter().Append(std::move(line));
}

bool FlushLog(std::chrono::milliseconds timeout) {
  return StandardErrorWriter().Flush(timeout);
}

int64_t DroppedLogLines() { return StandardErrorWriter().dropped_lines(); }

}  // namespace locus::server
