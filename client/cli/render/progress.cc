#include "client/cli/render/progress.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/base/printable.h"
#include "client/report/metric.h"

namespace locus::client {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(100);
constexpr int kBarWidth = 20;
// Moves the cursor to the beginning of the line and erases the line.
constexpr char kClear[] = "\r\x1b[K";

double DoneShare(double remaining_seconds, absl::Duration elapsed) {
  const double seconds = absl::ToDoubleSeconds(elapsed);
  const double all = seconds + std::max(0.0, remaining_seconds);
  return all > 0 ? std::clamp(seconds / all, 0.0, 1.0) : 0;
}

std::string Bar(double share) {
  const int full = static_cast<int>(share * kBarWidth);
  return absl::StrCat("[", std::string(full, '#'),
                      std::string(kBarWidth - full, '.'), "]",
                      absl::StrFormat("%4.0f%%", 100 * share));
}

// A part of a progress line. If the line is too long, the part with the
// smallest weight is left out first.
struct Part {
  std::string text;
  int weight;
};

std::string Fit(std::vector<Part> parts, int width) {
  const auto line = [&parts] {
    return absl::StrJoin(parts, "  ", [](std::string* out, const Part& part) {
      out->append(part.text);
    });
  };
  while (parts.size() > 1 && static_cast<int>(line().size()) > width) {
    parts.erase(std::min_element(
        parts.begin(), parts.end(),
        [](const Part& a, const Part& b) { return a.weight < b.weight; }));
  }
  // A character may have been cut.
  return PrintableLine(line().substr(0, std::max(width, 0)));
}

double RemainingSeconds(const DistributedProgress& progress) {
  if (!(progress.done_share > 0)) return 0;
  return absl::ToDoubleSeconds(progress.elapsed) * (1 - progress.done_share) /
         progress.done_share;
}

}  // namespace

std::string ShortDuration(double seconds) {
  if (!(seconds > 0)) return "0s";
  const auto whole = static_cast<int64_t>(std::min(std::ceil(seconds), 1e9));
  if (whole < 60) return absl::StrCat(whole, "s");
  if (whole < 3600) return absl::StrFormat("%dm%02ds", whole / 60, whole % 60);
  return absl::StrFormat("%dh%02dm", whole / 3600, whole / 60 % 60);
}

std::string ProgressLine(const v1::EvaluationProgress& progress,
                         absl::Duration elapsed, int width) {
  std::vector<Part> parts = {
      {PrintableLine(progress.scheme_name()), 5},
      {absl::StrCat("seed ", progress.seed()), 1},
      {Bar(DoneShare(progress.remaining_seconds(), elapsed)), 3}};
  if (progress.step_count() > 0) {
    parts.push_back(
        {absl::StrCat("step ", progress.step(), "/", progress.step_count()),
         2});
    parts.push_back({absl::StrFormat("loss %.3f", progress.loss()), 0});
  }
  parts.push_back(
      {absl::StrCat(ShortDuration(progress.remaining_seconds()), " left"), 4});
  return Fit(std::move(parts), width);
}

std::string DistributedLine(const DistributedProgress& progress, int width) {
  return Fit(
      {{absl::StrCat(progress.done_runs, "/", progress.run_count, " runs"), 3},
       {absl::StrCat(progress.working_servers,
                     progress.working_servers == 1 ? " server" : " servers"),
        1},
       {Bar(progress.done_share), 2},
       {absl::StrCat(ShortDuration(RemainingSeconds(progress)), " left"), 4}},
      width);
}

ProgressReporter::ProgressReporter(ProgressOptions options, absl::Time start)
    : options_(std::move(options)), start_(start) {}

void ProgressReporter::On(const v1::EvaluateExtrapolationResponse& event,
                          absl::Time now) {
  if (options_.quiet) return;
  if (event.has_progress()) OnProgress(event.progress(), now);
  if (event.has_cell()) OnCell(event.cell());
}

void ProgressReporter::OnProgress(const v1::EvaluationProgress& progress,
                                  absl::Time now) {
  if (options_.columns > 0) {
    if (!MayDraw(now)) return;
    // Some terminals wrap if the last column is used.
    options_.write(absl::StrCat(
        kClear, ProgressLine(progress, now - start_, options_.columns - 1)));
    return;
  }
  const std::string run = absl::StrCat(PrintableLine(progress.scheme_name()),
                                       " seed ", progress.seed());
  if (run == announced_) return;
  announced_ = run;
  std::string line = run;
  if (progress.step_count() > 0) {
    absl::StrAppend(&line, ": training, ", progress.step_count(), " steps");
  }
  absl::StrAppend(&line, ", about ",
                  ShortDuration(progress.remaining_seconds()),
                  " left in all\n");
  options_.write(line);
}

void ProgressReporter::OnDistributed(const DistributedProgress& progress,
                                     const std::string& run,
                                     absl::string_view server,
                                     int64_t step_count, absl::Time now) {
  if (options_.quiet) return;
  if (options_.columns > 0) {
    if (!MayDraw(now)) return;
    options_.write(
        absl::StrCat(kClear, DistributedLine(progress, options_.columns - 1)));
    return;
  }
  std::string line = absl::StrCat(PrintableLine(run), " on ", server);
  if (!announced_runs_.insert(line).second) return;
  absl::StrAppend(&line, ": training, ", step_count, " steps, about ",
                  ShortDuration(RemainingSeconds(progress)), " left in all\n");
  options_.write(line);
}

void ProgressReporter::Say(absl::string_view line) {
  if (options_.quiet) return;
  options_.write(absl::StrCat(drawn_.has_value() ? kClear : "",
                              PrintableLine(line), "\n"));
}

bool ProgressReporter::MayDraw(absl::Time now) {
  if (drawn_.has_value() && now - *drawn_ < kRedraw) return false;
  drawn_ = now;
  return true;
}

void ProgressReporter::OnCell(const v1::EvaluationCell& cell) {
  if (options_.columns > 0) return;
  // Show only the metric with the best rank.
  std::string metric;
  for (const auto& [name, value] : cell.metrics()) {
    const int rank = MetricOf(name).rank;
    const int best = metric.empty() ? 1 << 20 : MetricOf(metric).rank;
    if (rank < best || (rank == best && name < metric)) metric = name;
  }
  std::string line = absl::StrCat(PrintableLine(cell.scheme_name()), " seed ",
                                  cell.seed(), " length ", cell.eval_length());
  if (!metric.empty()) {
    absl::StrAppend(&line, absl::StrFormat(": %s %.4g", PrintableLine(metric),
                                           cell.metrics().at(metric)));
  }
  options_.write(line + "\n");
}

void ProgressReporter::Finish() {
  if (drawn_.has_value()) options_.write(kClear);
}

}  // namespace locus::client
