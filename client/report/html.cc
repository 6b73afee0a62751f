#include "client/report/html.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/plot/svg.h"
#include "client/plot/text.h"
#include "client/report/chart_figure.h"
#include "client/report/evaluation_figures.h"
#include "client/report/evaluation_tables.h"
#include "client/report/evaluation_text.h"
#include "client/report/page.h"

namespace locus::client {
namespace {

using plot::Escape;

std::string MapsFigure(const std::optional<plot::Scene>& maps) {
  if (!maps.has_value()) return "";
  return absl::StrCat("<figure class=\"maps\">\n<div class=\"scroll\">",
                      plot::WriteSvg(*maps, {.embedded = true}),
                      "</div>\n</figure>\n");
}

// Returns the charts: the first one, the training losses, and the rest folded.
std::string TrainedCharts(const Manifest& manifest, const ReportInput& input) {
  const std::vector<ChartFigure> figures =
      EvaluationFigures(manifest, input.cells);
  std::string first;
  std::string rest;
  for (const ChartFigure& figure : figures) {
    (first.empty() ? first : rest) += FigureHtml(figure);
  }
  std::string html = first;
  if (const auto losses = LossFigures(manifest); !losses.empty()) {
    absl::StrAppend(
        &html,
        "<h2>Training losses</h2>\n<p class=\"note\">Loss over the training "
        "steps, with a line for each seed. All charts have the same "
        "axes.</p>\n",
        SmallMultiples(losses));
  }
  if (!rest.empty()) {
    absl::StrAppend(&html, "<h2>More charts</h2>\n", rest);
  }
  return html;
}

// Returns the explanation of the charts of pattern mode.
std::string PatternNote(const Manifest& manifest) {
  return absl::StrCat(
      "<p class=\"note\">The drift of the score profile is the difference, in "
      "nats, between the mean attention score at distances of at least ",
      manifest.train_length,
      " tokens and at shorter ones. A scheme such as "
      "ALiBi lowers the scores of distant keys by design and therefore has a "
      "large drift, although its maps hardly change: the softmax already gives "
      "these keys almost no weight.</p>\n");
}

std::string PatternCharts(const Manifest& manifest, const ReportInput& input) {
  std::string charts = PatternNote(manifest);
  const std::vector<ChartFigure> figures =
      EvaluationFigures(manifest, input.cells);
  for (const ChartFigure& figure : figures) charts += FigureHtml(figure);
  return absl::StrCat(
      MapsFigure(input.attention_maps),
      Folded(absl::StrCat("Charts of ", figures.size(), " measures"), charts));
}

std::string Configuration(const Manifest& manifest) {
  return Folded(
      "Configuration",
      absl::StrCat(
          "<pre>",
          Escape(manifest.json["configuration"].dump(
              2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)),
          "</pre>"));
}

std::string Files(const Manifest& manifest, const ReportInput& input) {
  const std::string text = manifest.json.dump(
      2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string html = absl::StrCat(
      "<p><a download=\"manifest.json\" href=\"data:application/json;base64,",
      absl::Base64Escape(text),
      "\">manifest.json</a> contains all results, and can be used to repeat "
      "the evaluation.</p>\n");
  if (input.files.empty()) return html;
  html += "<p>Files in the folder of this report:";
  for (const std::string& file : input.files) {
    absl::StrAppend(&html, " <a href=\"", Escape(file), "\">", Escape(file),
                    "</a>");
  }
  return html + "</p>\n";
}

}  // namespace

std::string MakeReport(const Manifest& manifest, const ReportInput& input) {
  return MakePage(
      {.title = ReportTitle(manifest),
       .kicker = absl::StrCat("Locus \xc2\xb7 ", manifest.date),
       .body = absl::StrCat(
           QuestionHtml(manifest), CommandBox(input.command),
           EvaluationFacts(manifest), VerdictCard(manifest),
           MeaningHtml(manifest),
           manifest.is_pattern() ? PatternCharts(manifest, input) : "",
           OverviewTable(manifest),
           manifest.is_pattern() ? "" : TrainedCharts(manifest, input),
           EffectiveLengthTable(manifest), GatesTable(manifest),
           FoldedTables(manifest), Configuration(manifest),
           Files(manifest, input))});
}

}  // namespace locus::client
