// Structured logs: one JSON object per line.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace locus::server {

// Builds one log line. Not thread-safe.
//
//   WriteLog(LogLine("info", "ready").Add("grpc_port", 50051));
class LogLine {
 public:
  // Starts the line with the fields ts (the current time as RFC 3339 in UTC,
  // with microseconds), level and event.
  LogLine(absl::string_view level, absl::string_view event);

  // Adds a field. Keys are written verbatim and must be literals of the
  // program. Values are escaped as by AppendJsonString() and may be untrusted.
  LogLine& Add(absl::string_view key, absl::string_view value);
  LogLine& Add(absl::string_view key, const char* value);
  LogLine& Add(absl::string_view key, int64_t value);
  LogLine& Add(absl::string_view key, int value);

  // Returns the complete line, with its newline.
  std::string Finish() const;

 private:
  void Key(absl::string_view key);
  std::string text_;
};

// Writes the line to standard error in a single write(), so that lines of
// different threads do not mix. If the stream is closed or full, the line is
// lost without an error. Thread-safe.
void WriteLog(const LogLine& line);

// Appends `text` as a JSON string, with its quotes. Deceptive characters (see
// IsDeceptive()) are escaped, and bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);

}  // namespace locus::server
