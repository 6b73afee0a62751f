#include "client/load/progress_line.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/units.h"

namespace locus::client::load {
namespace {

// Moves to the beginning of the line and erases it (ANSI escape sequence).
constexpr char kEraseLine[] = "\r\x1b[K";

}  // namespace

std::string FormatProgressLine(const Interval& interval, bool warm_up) {
  const double seconds = interval.to_seconds - interval.from_seconds;
  const auto nanos = [](int64_t count) {
    return FormatNanos(static_cast<double>(count));
  };
  std::string line = absl::StrFormat(
      "%.0fs%s  %.0f/s  %d failed  %d in flight", interval.to_seconds,
      warm_up ? " (warm-up)" : "",
      seconds > 0 ? static_cast<double>(interval.ok) / seconds : 0.0,
      interval.failed, interval.in_flight);
  if (interval.ok > 0) {
    absl::StrAppend(&line, "  p50 ", nanos(interval.p50), "  p99 ",
                    nanos(interval.p99), "  max ", nanos(interval.max));
  }
  return line;
}

ProgressLine::ProgressLine(ProgressLineOptions options)
    : options_(std::move(options)) {}

void ProgressLine::Update(const Interval& interval) {
  if (options_.quiet) return;
  const std::string line =
      absl::StrCat(options_.prefix,
                   FormatProgressLine(interval, interval.from_seconds <
                                                    options_.warm_up_seconds));
  if (options_.columns == 0) {
    options_.write(line + "\n");
    return;
  }
  drawn_ = true;
  // Leaves the last column free, since some terminals wrap there.
  options_.write(
      absl::StrCat(kEraseLine, line.substr(0, options_.columns - 1)));
}

void ProgressLine::Clear() {
  if (drawn_) options_.write(kEraseLine);
  drawn_ = false;
}

}  // namespace locus::client::load
