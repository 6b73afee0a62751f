#include "client/cli/render/evaluation_table.h"

#include <cmath>
#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/base/printable.h"
#include "client/cli/render/table.h"
#include "client/report/metric.h"

namespace locus::client {
namespace {

std::string FourDigits(double value) { return absl::StrFormat("%.4g", value); }

// The metrics of a cell, sorted by name; the order of protobuf maps is
// unspecified.
std::map<std::string, double> Sorted(const v1::EvaluationCell& cell) {
  return {cell.metrics().begin(), cell.metrics().end()};
}

bool IsCompared(const Manifest& manifest, const std::string& scheme) {
  const v1::EvaluationGate* gate = FindGate(manifest, scheme);
  return gate == nullptr || gate->passed();
}

// The best mean at `length` among the schemes that passed the gate. None if the
// evaluation is partial.
std::optional<double> BestAt(const Manifest& manifest, int64_t length,
                             const std::string& metric) {
  const Better better = MetricOf(metric).better;
  std::optional<double> best;
  // The cells of a partial evaluation may come from different seeds.
  if (better == Better::kNeither || manifest.summary.partial()) return best;
  for (const std::string& scheme : SchemesOf(manifest)) {
    const auto* row = FindRow(manifest, scheme, length, metric);
    if (row == nullptr || !std::isfinite(row->mean()) ||
        !IsCompared(manifest, scheme)) {
      continue;
    }
    if (!best.has_value() ||
        (better == Better::kMore ? row->mean() > *best : row->mean() < *best)) {
      best = row->mean();
    }
  }
  return best;
}

std::string CellText(const v1::EvaluationRow* row, std::optional<double> best) {
  if (row == nullptr) return "-";
  std::string text = FourDigits(row->mean());
  if (row->ci_high() > row->ci_low()) {
    absl::StrAppend(
        &text, " \xc2\xb1",
        absl::StrFormat("%.2g", (row->ci_high() - row->ci_low()) / 2));
  }
  if (best.has_value() && row->mean() == *best) text += " *";
  return text;
}

std::string GateText(const Manifest& manifest, const std::string& scheme) {
  const v1::EvaluationGate* gate = FindGate(manifest, scheme);
  if (gate == nullptr) return "";
  if (gate->passed() && gate->learned_share() == 1) return "learned";
  return absl::StrFormat("%s (%.0f%% of seeds)",
                         gate->passed() ? "learned" : "NOT LEARNED",
                         100 * gate->learned_share());
}

// Breaks the text into lines of at most `width` characters.
std::string Wrap(absl::string_view text, size_t width) {
  std::string wrapped;
  size_t used = 0;
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n\r\t"), absl::SkipEmpty())) {
    if (used > 0 && used + 1 + word.size() > width) {
      wrapped += "\n";
      used = 0;
    }
    absl::StrAppend(&wrapped, used > 0 ? " " : "", word);
    used += word.size() + (used > 0 ? 1 : 0);
  }
  return wrapped + "\n";
}

std::string Heading(const Manifest& manifest, const std::string& metric) {
  const Metric known = MetricOf(metric);
  const char* direction = known.better == Better::kLess   ? ", lower is better"
                          : known.better == Better::kMore ? ", higher is better"
                                                          : "";
  return absl::StrCat(PrintableLine(manifest.experiment), ": ",
                      PrintableLine(metric), known.unit.empty() ? "" : ", ",
                      known.unit, direction,
                      manifest.is_pattern() ? "; built for " : "; trained at ",
                      manifest.train_length, "\n\n");
}

std::string FormatMetric(const Manifest& manifest, const std::string& metric) {
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  std::vector<std::vector<std::string>> rows = {{"SCHEME"}};
  for (const int64_t length : lengths) {
    rows.front().push_back(absl::StrCat("AT ", length));
  }
  rows.front().push_back(manifest.summary.gates().empty() ? "" : "IN RANGE");
  bool marked = false;
  for (const std::string& scheme : SchemesOf(manifest)) {
    std::vector<std::string> row = {scheme};
    for (const int64_t length : lengths) {
      const std::optional<double> best = BestAt(manifest, length, metric);
      marked |= best.has_value();
      row.push_back(
          CellText(FindRow(manifest, scheme, length, metric),
                   IsCompared(manifest, scheme) ? best : std::nullopt));
    }
    row.push_back(GateText(manifest, scheme));
    rows.push_back(std::move(row));
  }
  return absl::StrCat(FormatRows(rows),
                      marked ? "* best at that length; \xc2\xb1 is half of a "
                               "95 % interval over seeds\n"
                             : "");
}

// A field of a CSV file.
std::string Quoted(absl::string_view text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(PrintableLine(text), {{"\"", "\"\""}}), "\"");
}

// Whether a name needs no quotes in a CSV file.
bool IsPlainName(absl::string_view name) {
  return absl::c_all_of(
      name, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

}  // namespace

std::string FormatEvaluation(const Manifest& manifest, int width) {
  const v1::EvaluationSummary& summary = manifest.summary;
  const std::vector<std::string> metrics = MetricsOf(manifest);
  std::string text;
  if (metrics.empty()) {
    text = "no cell was finished\n";
  } else {
    text = absl::StrCat(Heading(manifest, metrics.front()),
                        FormatMetric(manifest, metrics.front()));
  }
  if (summary.partial()) {
    text +=
        "\nPARTIAL: the deadline passed or the server shut down; these are the "
        "finished cells.\n";
  }
  // If there is no winner, the reason says so.
  if (!summary.winner().empty()) {
    absl::StrAppend(&text, "\nWinner: ", PrintableLine(summary.winner()));
  }
  return absl::StrCat(text, "\n", Wrap(summary.reason(), width));
}

std::string FormatCells(const std::vector<v1::EvaluationCell>& cells) {
  std::vector<std::vector<std::string>> rows = {
      {"SCHEME", "SEED", "LENGTH", "METRICS"}};
  for (const v1::EvaluationCell& cell : cells) {
    std::string metrics;
    for (const auto& [name, value] : Sorted(cell)) {
      if (BucketOf(name).has_value()) continue;
      absl::StrAppend(&metrics, metrics.empty() ? "" : "  ", name, " ",
                      FourDigits(value));
    }
    rows.push_back({cell.scheme_name(), absl::StrCat(cell.seed()),
                    absl::StrCat(cell.eval_length()), metrics});
  }
  return FormatRows(rows);
}

std::string CellsCsv(const std::vector<v1::EvaluationCell>& cells) {
  std::string csv = "scheme,seed,length,metric,value\n";
  for (const v1::EvaluationCell& cell : cells) {
    for (const auto& [name, value] : Sorted(cell)) {
      absl::StrAppend(&csv, Quoted(cell.scheme_name()), ",", cell.seed(), ",",
                      cell.eval_length(), ",",
                      IsPlainName(name) ? name : Quoted(name), ",",
                      absl::StrFormat("%.17g", value), "\n");
    }
  }
  return csv;
}

}  // namespace locus::client
