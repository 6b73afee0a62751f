// Progress of an evaluation on standard error: one line that is redrawn on a
// terminal, plain lines otherwise.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::client {

// One line of at most `width` characters: scheme, seed, a bar for the whole
// evaluation, step, loss and time left. Parts that do not fit are left out, the
// least important ones first.
std::string ProgressLine(const v1::EvaluationProgress& progress,
                         absl::Duration elapsed, int width);

// A rounded-up duration with at most two units: "45s", "1m20s", "2h05m".
std::string ShortDuration(double seconds);

// State of an evaluation that is distributed over several servers.
struct DistributedProgress {
  // Runs; each is one scheme with one seed.
  int done_runs = 0;
  int run_count = 0;
  int working_servers = 0;
  // Completed share of the whole evaluation, from 0 to 1.
  double done_share = 0;
  absl::Duration elapsed = absl::ZeroDuration();
};
// Like ProgressLine(), for all servers together.
std::string DistributedLine(const DistributedProgress& progress, int width);

struct ProgressOptions {
  // Width of the terminal in columns; 0 writes plain lines.
  int columns = 0;
  // Writes nothing at all.
  bool quiet = false;
  // Receives the text, including newlines and control sequences.
  std::function<void(absl::string_view)> write;
};

// Writes the progress of an evaluation. Redraws its line on a terminal at most
// ten times per second; without a terminal, writes one line per run and cell.
// Not thread-safe.
class ProgressReporter {
 public:
  ProgressReporter(ProgressOptions options, absl::Time start);

  // Handles an event from a server.
  void On(const v1::EvaluateExtrapolationResponse& event, absl::Time now);
  // Reports that `server` is working on `run`, such as "rope seed 1".
  void OnDistributed(const DistributedProgress& progress,
                     const std::string& run, absl::string_view server,
                     int64_t step_count, absl::Time now);
  // Writes a permanent line.
  void Say(absl::string_view line);
  // Erases the progress line from the terminal.
  void Finish();

 private:
  void OnProgress(const v1::EvaluationProgress& progress, absl::Time now);
  void OnCell(const v1::EvaluationCell& cell);
  // Whether enough time has passed to redraw the line.
  bool MayDraw(absl::Time now);

  const ProgressOptions options_;
  const absl::Time start_;
  std::optional<absl::Time> drawn_;
  // The last run that was written as a plain line, and all lines written by
  // OnDistributed().
  std::string announced_;
  std::set<std::string> announced_runs_;
};

}  // namespace locus::client
