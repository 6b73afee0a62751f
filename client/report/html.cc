#include "client/report/html.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/plot/scale.h"
#include "client/plot/svg.h"
#include "client/plot/text.h"
#include "client/plot/theme.h"
#include "client/report/charts.h"
#include "client/report/metric.h"
#include "client/report/page_style.h"

namespace locus::client {
namespace {

using plot::Escape;
using plot::ShortNumber;

std::string Cell(absl::string_view text) {
  return absl::StrCat("<td>", Escape(text), "</td>");
}

// Returns a table cell with a rounded number. If rounding changed the number,
// the title of the cell has it in full.
std::string NumberCell(double value) {
  const std::string shown = ShortNumber(value);
  double read = 0;
  if (absl::SimpleAtod(shown, &read) && read == value) {
    return absl::StrCat("<td class=\"n\">", shown, "</td>");
  }
  return absl::StrCat("<td class=\"n\" title=\"", nlohmann::json(value).dump(),
                      "\">", shown, "</td>");
}

struct Heading {
  std::string text;
  // Numbers are aligned to the right.
  bool number = false;
};

// Returns a table that scrolls horizontally on narrow screens.
std::string Table(absl::string_view id, const std::vector<Heading>& headings,
                  const std::vector<std::string>& rows) {
  std::string html =
      absl::StrCat("<div class=\"scroll\"><table id=\"", id, "\"><thead><tr>");
  for (const Heading& heading : headings) {
    absl::StrAppend(&html, "<th scope=\"col\"",
                    heading.number ? " class=\"n\">" : ">",
                    Escape(heading.text), "</th>");
  }
  html += "</tr></thead><tbody>\n";
  for (const std::string& row : rows) {
    absl::StrAppend(&html, "<tr>", row, "</tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

std::string Question(const Manifest& manifest) {
  const std::string lengths = absl::StrJoin(LengthsOf(manifest), ", ");
  if (manifest.is_pattern()) {
    return absl::StrCat(
        "One attention layer with seeded weights, built for ",
        manifest.train_length,
        " tokens and not trained. What does its attention look like with each "
        "position scheme at ",
        lengths, " tokens?");
  }
  return absl::StrCat(
      "Small transformers, trained from scratch on the task "
      "\xe2\x80\x9c",
      manifest.experiment, "\xe2\x80\x9d with at most ", manifest.train_length,
      " tokens. How well does each position scheme do at ", lengths,
      " tokens?");
}

std::string Verdict(const Manifest& manifest) {
  const v1::EvaluationSummary& summary = manifest.summary;
  std::string html = "<section class=\"verdict\">\n";
  if (summary.partial()) {
    html +=
        "<p class=\"partial\"><strong>Partial.</strong> The evaluation ran out "
        "of time; these are the results up to then.</p>\n";
  }
  absl::StrAppend(
      &html, "<p class=\"winner\">",
      summary.winner().empty() ? "No winner" : Escape(summary.winner()),
      "</p>\n<p id=\"reason\">", Escape(summary.reason()), "</p>\n");
  return html + "</section>\n";
}

std::string Charts(const Manifest& manifest,
                   const std::optional<plot::Scene>& attention_maps) {
  std::string html;
  for (const NamedChart& chart : ChartsOf(manifest)) {
    absl::StrAppend(
        &html, "<figure>\n",
        plot::WriteSvg(plot::DrawLineChart(chart.chart), {.embedded = true}),
        "</figure>\n");
  }
  if (attention_maps.has_value()) {
    absl::StrAppend(&html, "<figure class=\"maps\">\n",
                    plot::WriteSvg(*attention_maps, {.embedded = true}),
                    "</figure>\n");
  }
  return html;
}

// Returns a table of the deciding metric, with a row for each scheme and a
// column for each length.
std::string Overview(const Manifest& manifest) {
  const std::vector<std::string> metrics = MetricsOf(manifest);
  if (metrics.empty()) return "<p>There are no results.</p>\n";
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  std::vector<Heading> headings = {{"scheme"}};
  for (const int64_t length : lengths) {
    headings.push_back({absl::StrCat(length, " tokens"), true});
  }
  std::vector<std::string> rows;
  for (const std::string& scheme : SchemesOf(manifest)) {
    std::string row =
        absl::StrCat("<th scope=\"row\">", Escape(scheme), "</th>");
    for (const int64_t length : lengths) {
      const auto* cell = FindRow(manifest, scheme, length, metrics.front());
      if (cell == nullptr) {
        row += "<td class=\"n\">\xe2\x80\x93</td>";
        continue;
      }
      absl::StrAppend(&row, "<td class=\"n\">", ShortNumber(cell->mean()));
      if (cell->ci_high() > cell->ci_low()) {
        absl::StrAppend(&row, "<br><small>", ShortNumber(cell->ci_low()),
                        " \xe2\x80\xa6 ", ShortNumber(cell->ci_high()),
                        "</small>");
      }
      row += "</td>";
    }
    rows.push_back(std::move(row));
  }
  return absl::StrCat("<h2>", Escape(MetricOf(metrics.front()).title),
                      "</h2>\n", Table("overview", headings, rows));
}

std::string Gates(const Manifest& manifest) {
  if (manifest.summary.gates().empty()) return "";
  std::vector<std::string> rows;
  for (const v1::EvaluationGate& gate : manifest.summary.gates()) {
    rows.push_back(absl::StrCat(
        "<th scope=\"row\">", Escape(gate.scheme_name()), "</th>",
        Cell(gate.metric()), NumberCell(gate.threshold()),
        NumberCell(gate.learned_share()),
        gate.passed() ? "<td>learned</td>"
                      : "<td class=\"failed\">did not learn</td>"));
  }
  return absl::StrCat(
      "<h2>Learning within the training length</h2>\n<p>Schemes that did not "
      "learn the task there are not compared at longer lengths.</p>\n",
      Table("gates",
            {{"scheme"},
             {"metric"},
             {"threshold", true},
             {"share of seeds", true},
             {""}},
            rows));
}

// Returns the table rows of rows or differences, which have the same fields.
template <typename Rows>
std::vector<std::string> Figures(const Rows& figures) {
  std::vector<std::string> rows;
  for (const auto& figure : figures) {
    rows.push_back(
        absl::StrCat("<th scope=\"row\">", Escape(figure.scheme_name()),
                     "</th>", Cell(figure.metric()),
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

std::string AllFigures(const Manifest& manifest) {
  const v1::EvaluationSummary& summary = manifest.summary;
  std::string html = absl::StrCat(
      "<details><summary>All results (", summary.rows_size(),
      " rows)</summary>\n",
      Table("rows", FigureHeadings("mean"), Figures(summary.rows())),
      "</details>\n");
  if (summary.differences().empty()) return html;
  return absl::StrCat(html, "<details><summary>Differences to ",
                      Escape(summary.differences(0).baseline_name()),
                      ", seed by seed</summary>\n",
                      Table("differences", FigureHeadings("difference"),
                            Figures(summary.differences())),
                      "</details>\n");
}

std::string Configuration(const Manifest& manifest) {
  const std::string text = manifest.json.dump(
      2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const std::string configuration = manifest.json["configuration"].dump(
      2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return absl::StrCat("<details><summary>Configuration</summary>\n<pre>",
                      Escape(configuration),
                      "</pre></details>\n<p><a download=\"manifest.json\" "
                      "href=\"data:application/json;base64,",
                      absl::Base64Escape(text),
                      "\">manifest.json</a> contains all results, and can be "
                      "used to repeat the evaluation.</p>\n");
}

}  // namespace

std::string MakeReport(const Manifest& manifest,
                       const std::optional<plot::Scene>& attention_maps) {
  const std::string title =
      absl::StrCat("Extrapolation: ", manifest.experiment);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n<title>",
      Escape(title), "</title>\n<style>", PageStyle(),
      "</style>\n</head>\n"
      "<body>\n<main>\n<header><p class=\"kicker\">Locus \xc2\xb7 ",
      Escape(manifest.date), "</p>\n<h1>", Escape(title), "</h1>\n<p>",
      Escape(Question(manifest)), "</p></header>\n", Verdict(manifest),
      Charts(manifest, attention_maps), Overview(manifest), Gates(manifest),
      AllFigures(manifest), Configuration(manifest),
      "</main>\n</body>\n</html>\n");
}

}  // namespace locus::client
