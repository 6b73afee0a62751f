// Structured logs: one JSON object per line.
#pragma once

#include <chrono>
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

// Queues the line for standard error and returns at once. One thread of the
// process writes all lines, in order and whole (see LogWriter). If standard
// error is blocked for long, the oldest lines are dropped; if it is closed or
// full, the line is dropped. Thread-safe.
void WriteLog(const LogLine& line);
// Same, for a line of plain text, which ends with its only newline.
void WriteLogText(std::string line);

// Waits until all lines so far are written or dropped, for at most `timeout`.
// Returns false if the timeout has passed. Lines that are still queued when the
// process exits are lost, so call this first. Thread-safe.
bool FlushLog(std::chrono::milliseconds timeout);

// Returns the number of lines that this process has dropped. Thread-safe.
int64_t DroppedLogLines();

// Appends `text` as a JSON string, with its quotes. Deceptive characters (see
// IsDeceptive()) are escaped, and bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);

}  // namespace locus::server
