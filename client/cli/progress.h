// How an evaluation is getting on: a line that is redrawn on a terminal, plain
// lines elsewhere.
#pragma once

#include <functional>
#include <optional>
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
  // Removes the line.
  void Finish();

 private:
  void OnProgress(const v1::EvaluationProgress& progress, absl::Time now);
  void OnCell(const v1::EvaluationCell& cell);

  const ProgressOptions options_;
  const absl::Time start_;
  std::optional<absl::Time> drawn_;
  // The run that was announced last.
  std::string announced_;
};

}  // namespace locus::client
