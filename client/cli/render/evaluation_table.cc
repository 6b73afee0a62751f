#include "client/cli/render/evaluation_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
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

// The best mean at `length` among the schemes that passed the gate, if its 95 %
// interval is better than chance. None if the evaluation is partial.
std::optional<double> BestAt(const Manifest& manifest, int64_t length,
                             const std::string& metric) {
  const Better better = MetricOf(metric).better;
  const v1::EvaluationRow* best = nullptr;
  // The cells of a partial evaluation may come from different seeds.
  if (better == Better::kNeither || manifest.summary.partial()) {
    return std::nullopt;
  }
  for (const std::string& scheme : SchemesOf(manifest)) {
    const auto* row = FindRow(manifest, scheme, length, metric);
    if (row == nullptr || !std::isfinite(row->mean()) ||
        !IsCompared(manifest, scheme)) {
      continue;
    }
    if (best == nullptr ||
        (better == Better::kMore ? row->mean() > best->mean()
                                 : row->mean() < best->mean())) {
      best = row;
    }
  }
  if (best == nullptr || manifest.summary.gates().empty() ||
      !BeatsChance(*best, manifest.summary.gates(0))) {
    return std::nullopt;
  }
  return best->mean();
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

// How many seeds learned the task, such as "2 of 3".
std::string LearnedSeeds(const Manifest& manifest,
                         const v1::EvaluationGate& gate) {
  const auto* row = FindRow(manifest, gate.scheme_name(), manifest.train_length,
                            gate.metric());
  if (row == nullptr) return "";
  return absl::StrFormat(
      "%.0f of %d", gate.learned_share() * static_cast<double>(row->count()),
      row->count());
}

std::string GateText(const Manifest& manifest, const std::string& scheme) {
  const v1::EvaluationGate* gate = FindGate(manifest, scheme);
  if (gate == nullptr) return "";
  if (gate->passed() && gate->learned_share() == 1) return "learned";
  return absl::StrCat(gate->passed() ? "learned (" : "NOT LEARNED (",
                      LearnedSeeds(manifest, *gate), ")");
}

// The number of characters of a UTF-8 string.
size_t Width(absl::string_view text) {
  return absl::c_count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
}

// FormatRows() in blocks that are at most `width` columns wide. Each block
// begins with the first column.
std::string FormatFolded(const std::vector<std::vector<std::string>>& rows,
                         int width) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (size_t n = 0; n < row.size(); ++n) {
      widths[n] = std::max(widths[n], Width(row[n]));
    }
  }
  std::string text;
  for (size_t begin = 1, end = 1; begin < widths.size(); begin = end) {
    size_t used = widths[0];
    while (end < widths.size() &&
           (end == begin ||
            used + 2 + widths[end] <= static_cast<size_t>(width))) {
      used += 2 + widths[end++];
    }
    std::vector<std::vector<std::string>> block;
    for (const auto& row : rows) {
      block.push_back({row.front()});
      for (size_t n = begin; n < std::min(end, row.size()); ++n) {
        block.back().push_back(row[n]);
      }
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n", FormatRows(block));
  }
  return text;
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

std::string Heading(const Manifest& manifest, const std::string& metric,
                    int width) {
  const Metric known = MetricOf(metric);
  const std::string unit = known.is_share ? "" : known.unit;
  const char* direction = known.better == Better::kLess   ? ", lower is better"
                          : known.better == Better::kMore ? ", higher is better"
                                                          : "";
  return absl::StrCat(
      Wrap(absl::StrCat(
               PrintableLine(manifest.experiment), ": ", PrintableLine(metric),
               unit.empty() ? "" : ", ", unit, direction,
               manifest.is_pattern() ? "; built for " : "; trained at ",
               manifest.train_length),
           width),
      "\n");
}

std::string FormatMetric(const Manifest& manifest, const std::string& metric,
                         int width) {
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  std::vector<std::vector<std::string>> rows = {{"SCHEME"}};
  for (const int64_t length : lengths) {
    rows.front().push_back(absl::StrCat("AT ", length));
  }
  // The table of effective lengths states which schemes learned the task.
  const bool gates = !manifest.summary.gates().empty() &&
                     manifest.summary.effective_lengths().empty();
  if (gates) rows.front().push_back("IN RANGE");
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
    if (gates) row.push_back(GateText(manifest, scheme));
    rows.push_back(std::move(row));
  }
  const std::string table = FormatFolded(rows, width);
  if (!marked) return table;
  return absl::StrCat(
      table, Wrap(absl::StrCat("* best there and better than chance (",
                               FourDigits(manifest.summary.gates(0).chance()),
                               "); \xc2\xb1 is half of a 95 % interval"),
                  width));
}

const v1::EvaluationSpread* FindSpread(const Manifest& manifest,
                                       const std::string& scheme,
                                       int64_t length) {
  for (const v1::EvaluationSpread& spread : manifest.summary.spreads()) {
    if (spread.scheme_name() == scheme && spread.eval_length() == length) {
      return &spread;
    }
  }
  return nullptr;
}

// An effective length with its interval. The sign of "greater or equal" marks
// the longest length that was tested.
std::string EffectiveText(const v1::EffectiveLength& effective,
                          int64_t longest) {
  const auto text_of = [longest](int64_t length) {
    return absl::StrCat(length >= longest ? "\xe2\x89\xa5" : "", length);
  };
  if (effective.length() == 0) return "-";
  if (effective.ci_low() == effective.ci_high()) {
    return text_of(effective.length());
  }
  return absl::StrCat(text_of(effective.length()), " (", effective.ci_low(),
                      " to ", text_of(effective.ci_high()), ")");
}

// The cells of a scheme's spread: worst seed, median, best seed and, for shares
// of right answers, the share of seeds above 95 %.
std::vector<std::string> SpreadCells(const v1::EvaluationSpread* spread) {
  if (spread == nullptr) return {};
  const bool less = MetricOf(spread->metric()).better == Better::kLess;
  std::vector<std::string> cells = {
      FourDigits(less ? spread->max() : spread->min()),
      FourDigits(spread->median()),
      FourDigits(less ? spread->min() : spread->max())};
  if (spread->has_share_above_95()) {
    cells.push_back(absl::StrFormat("%.0f%%", 100 * spread->share_above_95()));
  }
  return cells;
}

// The headings of the table of effective lengths.
std::vector<std::string> EffectiveHeadings(const std::string& metric,
                                           int64_t longest, bool spreads) {
  std::vector<std::string> headings = {"SCHEME", "LEARNED", "EFFECTIVE LENGTH"};
  if (!spreads) return headings;
  headings.insert(headings.end(),
                  {absl::StrCat("WORST AT ", longest), "MEDIAN", "BEST"});
  if (MetricOf(metric).better == Better::kMore) {
    headings.push_back("ABOVE 95 %");
  }
  return headings;
}

// The table of effective lengths, and of spreads at the longest length if there
// are several seeds. Empty if there are no effective lengths.
std::string FormatEffectiveLengths(const Manifest& manifest, int width) {
  const auto& effective = manifest.summary.effective_lengths();
  if (effective.empty()) return "";
  const int64_t longest = LengthsOf(manifest).back();
  const std::string& metric = effective[0].metric();
  const bool spreads = absl::c_any_of(
      manifest.summary.rows(), [](const auto& row) { return row.count() > 1; });
  std::vector<std::vector<std::string>> rows = {
      EffectiveHeadings(metric, longest, spreads)};
  for (const v1::EffectiveLength& each : effective) {
    const v1::EvaluationGate* gate = FindGate(manifest, each.scheme_name());
    std::vector<std::string> row = {
        each.scheme_name(),
        gate == nullptr ? "" : LearnedSeeds(manifest, *gate),
        EffectiveText(each, longest)};
    if (spreads) {
      const auto cells =
          SpreadCells(FindSpread(manifest, each.scheme_name(), longest));
      row.insert(row.end(), cells.begin(), cells.end());
    }
    rows.push_back(std::move(row));
  }
  return absl::StrCat(
      "\n",
      Wrap(absl::StrFormat(
               "Effective length: the longest tested length up to which %s is "
               "at most %.0f %% worse than at %d%s",
               PrintableLine(metric), 100 * effective[0].threshold(),
               manifest.train_length,
               spreads ? "; worst, median and best are over seeds." : "."),
           width),
      "\n", FormatFolded(rows, width));
}

bool IsSorted(const v1::OrderingAnswer& answer) {
  return std::is_sorted(answer.values().begin(), answer.values().end());
}

// The answer in words. Models that are undecided, or disagree, have an interval
// that contains one half.
std::string AnswerText(const v1::OrderingAnswer& answer) {
  const bool yes = answer.probability() > 0.5;
  if (answer.count() > 1 && answer.ci_low() <= 0.5 && answer.ci_high() >= 0.5) {
    return "undecided";
  }
  return absl::StrCat(yes ? "sorted" : "not sorted",
                      yes == IsSorted(answer) ? "" : " (wrong)");
}

// The mean probability with the half width of its interval, to four digits.
std::string ProbabilityText(const v1::OrderingAnswer& answer) {
  constexpr double kSmallest = 0.00005;
  if (answer.probability() < kSmallest) return "<0.0001";
  if (answer.probability() > 1 - kSmallest) return ">0.9999";
  std::string text = absl::StrFormat("%.4f", answer.probability());
  const double half = (answer.ci_high() - answer.ci_low()) / 2;
  if (half >= kSmallest) absl::StrAppendFormat(&text, " \xc2\xb1%.4f", half);
  return text;
}

// One table for each sequence about which the models were asked.
std::string FormatAnswers(const Manifest& manifest, int width) {
  const auto& answers = manifest.summary.ordering_answers();
  std::string text;
  for (int n = 0; n < answers.size();) {
    const v1::OrderingAnswer& first = answers[n];
    const std::string values = absl::StrJoin(first.values(), ", ");
    std::vector<std::vector<std::string>> rows = {
        {"SCHEME", "P(SORTED)", "ANSWER"}};
    for (; n < answers.size() &&
           absl::StrJoin(answers[n].values(), ", ") == values;
         ++n) {
      const v1::OrderingAnswer& answer = answers[n];
      rows.push_back(
          {answer.scheme_name(), ProbabilityText(answer), AnswerText(answer)});
    }
    absl::StrAppend(
        &text, "\n",
        Wrap(absl::StrCat(
                 "Is ", values, " sorted? It is", IsSorted(first) ? "" : " not",
                 ". Answers of the trained models, as the mean probability of "
                 "\"sorted\" over ",
                 first.count(), first.count() == 1 ? " seed:" : " seeds:"),
             width),
        FormatFolded(rows, width));
  }
  return text;
}

// The conclusion: the winner, if there is one, the text, and the next step.
std::string FormatVerdict(const v1::EvaluationSummary& summary, int width) {
  const v1::EvaluationVerdict& verdict = summary.verdict();
  std::string text = "\n";
  if (!verdict.winner().empty()) {
    absl::StrAppend(&text, "Winner: ", PrintableLine(verdict.winner()), "\n");
  }
  text += Wrap(verdict.text(), width);
  if (!verdict.next_step().empty()) text += Wrap(verdict.next_step(), width);
  return text;
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
    text = absl::StrCat(Heading(manifest, metrics.front(), width),
                        FormatMetric(manifest, metrics.front(), width));
  }
  if (summary.partial()) {
    text +=
        "\nPARTIAL: the deadline passed or the server shut down; these are the "
        "finished cells.\n";
  }
  if (!metrics.empty()) text += FormatEffectiveLengths(manifest, width);
  return absl::StrCat(text, FormatAnswers(manifest, width),
                      FormatVerdict(summary, width));
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
