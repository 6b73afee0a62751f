// Progress of a run: one line that is redrawn on a terminal, or plain lines.
#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "client/load/statistics.h"

namespace locus::client::load {

// Formats an interval, as in
// "3s  1000/s  0 failed  4 in flight  p50 180us  p99 1.21ms  max 2.04ms".
std::string FormatProgressLine(const Interval& interval, bool warm_up);

struct ProgressLineOptions {
  // Width of the terminal; 0 if the output is not a terminal, which writes
  // plain lines.
  int columns = 0;
  bool quiet = false;
  // Duration of the warm-up. Intervals that begin earlier are marked.
  double warm_up_seconds = 0;
  // Prefix of every line, such as the rate of a trial of a search.
  std::string prefix = "";
  // Writes text to the terminal.
  std::function<void(absl::string_view)> write;
};

// Displays the progress of a run. Not thread-safe.
class ProgressLine {
 public:
  explicit ProgressLine(ProgressLineOptions options);

  // Displays an interval that has ended.
  void Update(const Interval& interval);
  // Erases the line from the terminal.
  void Clear();

 private:
  const ProgressLineOptions options_;
  bool drawn_ = false;
};

}  // namespace locus::client::load
