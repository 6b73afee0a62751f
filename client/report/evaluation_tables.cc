#include "client/report/evaluation_tables.h"

#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/plot/scale.h"
#include "client/plot/text.h"
#include "client/report/manifest_details.h"
#include "client/report/metric.h"
#include "client/report/page.h"

namespace locus::client {
namespace {

using plot::Escape;
using plot::ShortNumber;

// Returns the name of a metric in words.
std::string MetricTitle(const std::string& metric) {
  if (const std::optional<Bucket> bucket = BucketOf(metric)) {
    return absl::StrCat(MetricOf("nll").title, ", positions ",
                        ShortNumber(bucket->begin), " to ",
                        ShortNumber(bucket->end));
  }
  return MetricOf(metric).title;
}

// "3 of 3" for a share of seeds.
std::string SeedsOf(double share, int64_t seed_count) {
  return absl::StrCat(std::llround(share * static_cast<double>(seed_count)),
                      " of ", seed_count);
}

bool IsCompared(const Manifest& manifest, const std::string& scheme) {
  const v1::EvaluationGate* gate = FindGate(manifest, scheme);
  return gate == nullptr || gate->passed();
}

// Whether the interval of a row lies above chance.
bool BeatsChance(const Metric& metric, const v1::EvaluationRow& row) {
  return metric.better != Better::kMore || !metric.chance.has_value() ||
         row.ci_low() > *metric.chance;
}

// Returns the row with the best mean at a length among the schemes that
// learned the task; null if there is none.
const v1::EvaluationRow* BestRow(const Manifest& manifest, int64_t length,
                                 const std::string& name) {
  const Metric metric = MetricOf(name);
  const v1::EvaluationRow* best = nullptr;
  if (metric.better == Better::kNeither) return best;
  for (const v1::EvaluationRow& row : manifest.summary.rows()) {
    if (row.eval_length() != length || row.metric() != name ||
        !IsCompared(manifest, row.scheme_name()) || !BeatsChance(metric, row)) {
      continue;
    }
    const bool better = best == nullptr || (metric.better == Better::kLess
                                                ? row.mean() < best->mean()
                                                : row.mean() > best->mean());
    if (better) best = &row;
  }
  return best;
}

std::string OverviewCell(const v1::EvaluationRow* row, bool is_best) {
  if (row == nullptr) return "<td class=\"n\">\xe2\x80\x93</td>";
  const std::string mean = ShortNumber(row->mean());
  std::string cell = absl::StrCat(
      "<td class=\"n", is_best ? " best" : "", "\">",
      is_best ? absl::StrCat("<strong>", mean, "</strong>") : mean);
  if (row->ci_high() > row->ci_low()) {
    absl::StrAppend(&cell, "<br><small>", ShortNumber(row->ci_low()),
                    " \xe2\x80\xa6 ", ShortNumber(row->ci_high()), "</small>");
  }
  return cell + "</td>";
}

// Returns the table rows of rows or differences, which have the same fields.
template <typename Rows>
std::vector<std::string> FigureRows(const Rows& figures) {
  std::vector<std::string> rows;
  for (const auto& figure : figures) {
    rows.push_back(
        absl::StrCat(RowHeading(figure.scheme_name()),
                     TextCell(MetricTitle(figure.metric())),
                     NumberCell(static_cast<double>(figure.eval_length())),
                     NumberCell(figure.mean()), NumberCell(figure.ci_low()),
                     NumberCell(figure.ci_high()),
                     NumberCell(static_cast<double>(figure.count()))));
  }
  return rows;
}

std::vector<Heading> FigureHeadings(const std::string& mean) {
  return {{"scheme"},          {"metric"},   {"tokens", true}, {mean, true},
          {"95 % from", true}, {"to", true}, {"seeds", true}};
}

std::string SpreadTable(const Manifest& manifest) {
  const std::vector<SpreadDetails> spreads = SpreadsOf(manifest);
  if (spreads.empty()) return "";
  const int64_t seed_count = SeedCountOf(manifest);
  std::vector<std::string> rows;
  for (const SpreadDetails& spread : spreads) {
    rows.push_back(absl::StrCat(
        RowHeading(spread.scheme), NumberCell(spread.eval_length),
        NumberCell(spread.min), NumberCell(spread.q25),
        NumberCell(spread.median), NumberCell(spread.q75),
        NumberCell(spread.max),
        spread.share_above_95.has_value()
            ? FormattedCell(*spread.share_above_95,
                            SeedsOf(*spread.share_above_95, seed_count))
            : "<td class=\"n\">\xe2\x80\x93</td>"));
  }
  return Folded(
      absl::StrCat("Spread of ",
                   absl::AsciiStrToLower(MetricTitle(spreads[0].metric)),
                   " over seeds"),
      HtmlTable("spreads",
                {{"scheme"},
                 {"tokens", true},
                 {"min", true},
                 {"25 %", true},
                 {"median", true},
                 {"75 %", true},
                 {"max", true},
                 {"seeds above 0.95", true}},
                rows));
}

}  // namespace

std::string OverviewTable(const Manifest& manifest) {
  const std::vector<std::string> metrics = MetricsOf(manifest);
  if (metrics.empty()) return "<p>There are no results.</p>\n";
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  std::vector<Heading> headings = {{"scheme"}};
  for (const int64_t length : lengths) {
    headings.push_back({absl::StrCat(length, " tokens"), true});
  }
  bool has_best = false;
  std::vector<std::string> rows;
  for (const std::string& scheme : SchemesOf(manifest)) {
    std::string row = RowHeading(scheme);
    for (const int64_t length : lengths) {
      const auto* cell = FindRow(manifest, scheme, length, metrics.front());
      const bool is_best =
          cell != nullptr && cell == BestRow(manifest, length, metrics.front());
      has_best |= is_best;
      row += OverviewCell(cell, is_best);
    }
    rows.push_back(std::move(row));
  }
  const Metric metric = MetricOf(metrics.front());
  return absl::StrCat(
      "<h2>", Escape(metric.title), "</h2>\n<p class=\"note\">",
      metric.unit.empty() ? ""
                          : absl::StrCat("Unit: ", Escape(metric.unit), ". "),
      metric.better == Better::kLess   ? "Lower is better. "
      : metric.better == Better::kMore ? "Higher is better. "
                                       : "",
      SeedCountOf(manifest) > 1
          ? "Small figures are 95 % confidence intervals over seeds."
          : "",
      has_best ? " The best value at each length is bold." : "", "</p>\n",
      HtmlTable("overview", headings, rows));
}

std::string GatesTable(const Manifest& manifest) {
  if (manifest.summary.gates().empty()) return "";
  const int64_t seed_count = SeedCountOf(manifest);
  std::vector<std::string> rows;
  for (const v1::EvaluationGate& gate : manifest.summary.gates()) {
    rows.push_back(absl::StrCat(
        RowHeading(gate.scheme_name()), TextCell(MetricTitle(gate.metric())),
        NumberCell(gate.threshold()),
        FormattedCell(gate.learned_share(),
                      SeedsOf(gate.learned_share(), seed_count)),
        gate.passed() ? "<td>learned</td>"
                      : "<td class=\"failed\">did not learn</td>"));
  }
  return absl::StrCat(
      "<h2>Learning within the training length</h2>\n<p class=\"note\">A "
      "scheme has learned if at least half of its seeds reach the threshold. "
      "The others are not compared at longer lengths.</p>\n",
      HtmlTable("gates",
                {{"scheme"},
                 {"metric"},
                 {"threshold", true},
                 {"seeds that reached it", true},
                 {"result"}},
                rows));
}

std::string EffectiveLengthTable(const Manifest& manifest) {
  const std::vector<EffectiveLengthDetails> entries =
      EffectiveLengthsOf(manifest);
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  if (entries.empty() || lengths.empty()) return "";
  const auto longest = static_cast<double>(lengths.back());
  const auto cell = [longest](double length) {
    return FormattedCell(
        length, length <= 0
                    ? "none"
                    : absl::StrCat(ShortNumber(length),
                                   length >= longest ? " or more" : ""));
  };
  std::vector<std::string> rows;
  for (const EffectiveLengthDetails& entry : entries) {
    rows.push_back(absl::StrCat(RowHeading(entry.scheme), cell(entry.length),
                                cell(entry.ci_low), cell(entry.ci_high)));
  }
  return absl::StrCat(
      "<h2>Effective length</h2>\n<p class=\"note\">The longest tested length "
      "up to which ",
      Escape(absl::AsciiStrToLower(MetricTitle(entries[0].metric))),
      " stays within ", ShortNumber(100 * entries[0].threshold),
      " % of its value at ", manifest.train_length, " tokens.</p>\n",
      HtmlTable(
          "effective",
          {{"scheme"}, {"tokens", true}, {"95 % from", true}, {"to", true}},
          rows));
}

std::string FoldedTables(const Manifest& manifest) {
  const v1::EvaluationSummary& summary = manifest.summary;
  std::string html = absl::StrCat(
      SpreadTable(manifest),
      Folded(absl::StrCat("All results (", summary.rows_size(), " rows)"),
             HtmlTable("rows", FigureHeadings("mean"),
                       FigureRows(summary.rows()))));
  if (summary.differences().empty()) return html;
  return absl::StrCat(
      html, Folded(absl::StrCat("Differences to ",
                                summary.differences(0).baseline_name(),
                                ", seed by seed"),
                   HtmlTable("differences", FigureHeadings("difference"),
                             FigureRows(summary.differences()))));
}

}  // namespace locus::client
