// How an evaluation is getting on: a line that is redrawn on a terminal, plain
// lines elsewhere.
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
// evaluation, step, loss and time left. What does not fit is left out, the
// least important first.
std::string ProgressLine(const v1::EvaluationProgress& progress,
                         absl::Duration elapsed, int width);

// "1m20s", "45s", "2h05m".
std::string ShortDuration(double seconds);

// Of an evaluation that several servers share.
struct SpreadProgress {
  // A run is a scheme with a seed.
  int done_runs = 0;
  int run_count = 0;
  int working_servers = 0;
  // Of all the work, from 0 to 1.
  double done_share = 0;
  absl::Duration elapsed = absl::ZeroDuration();
};
// Like ProgressLine, of all servers together.
std::string SpreadLine(const SpreadProgress& progress, int width);

struct ProgressOptions {
  // Columns of the terminal; 0: there is none, write plain lines.
  int columns = 0;
  bool quiet = false;
  std::function<void(absl::string_view)> write;
};

// Told of all events; writes at most ten times a second to a terminal, and one
// line for each run and cell elsewhere.
class ProgressReporter {
 public:
  ProgressReporter(ProgressOptions options, absl::Time start);

  void On(const v1::EvaluateExtrapolationResponse& event, absl::Time now);
  // One of several servers is at a run, such as "rope seed 1".
  void OnSpread(const SpreadProgress& progress, const std::string& run,
                absl::string_view server, int64_t step_count, absl::Time now);
  // A line that stays.
  void Say(absl::string_view line);
  // Removes the line.
  void Finish();

 private:
  void OnProgress(const v1::EvaluationProgress& progress, absl::Time now);
  void OnCell(const v1::EvaluationCell& cell);
  // Whether the line on the terminal may be drawn again.
  bool MayDraw(absl::Time now);

  const ProgressOptions options_;
  const absl::Time start_;
  std::optional<absl::Time> drawn_;
  // The run that was announced last; of several servers, all that were, with
  // their servers.
  std::string announced_;
  std::set<std::string> announced_runs_;
};

}  // namespace locus::client
