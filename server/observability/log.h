// Structured log lines: one JSON object each, on one line, in one write.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace locus::server {

// One line in the making:
//
//   WriteLog(LogLine("info", "ready").Add("grpc_port", 50051));
class LogLine {
 public:
  // Begins with ts (RFC 3339, microseconds, UTC), level and event.
  LogLine(absl::string_view level, absl::string_view event);

  // Keys are ours and need no escaping; values are anybody's and get it, and so
  // do characters that deceive (see server/base/utf8.h). Bytes that are not UTF-8
  // become U+FFFD.
  LogLine& Add(absl::string_view key, absl::string_view value);
  LogLine& Add(absl::string_view key, const char* value);
  LogLine& Add(absl::string_view key, int64_t value);
  LogLine& Add(absl::string_view key, int value);

  // The line, with its newline.
  std::string Finish() const;

 private:
  void Key(absl::string_view key);
  std::string text_;
};

// Writes to standard error. A stream that is closed or full loses the line and
// nothing else.
void WriteLog(const LogLine& line);

// Appends `text` as a JSON string with its quotes.
void AppendJsonString(absl::string_view text, std::string* out);

}  // namespace locus::server
