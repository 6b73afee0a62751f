// How a run is getting on: a line that is redrawn on a terminal, plain lines
// elsewhere.
#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "client/load/statistics.h"

namespace locus::client::load {

// "3s  1000/s  0 failed  4 in flight  p50 180us  p99 1.21ms  max 2.04ms".
std::string LiveLine(const Interval& interval, bool warm_up);

struct LiveOptions {
  // Columns of the terminal; 0: there is none, write plain lines.
  int columns = 0;
  bool quiet = false;
  // Intervals that begin before are of the warm-up.
  double warm_up_seconds = 0;
  // Stands before every line unless empty, as for a trial of a search.
  std::string prefix = "";
  std::function<void(absl::string_view)> write;
};

class LiveReporter {
 public:
  explicit LiveReporter(LiveOptions options);

  void On(const Interval& interval);
  // Removes the line.
  void Finish();

 private:
  const LiveOptions options_;
  bool drawn_ = false;
};

}  // namespace locus::client::load
