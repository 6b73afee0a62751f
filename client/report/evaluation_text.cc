#include "client/report/evaluation_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/plot/text.h"
#include "client/report/manifest_details.h"
#include "client/report/metric.h"
#include "client/report/page.h"

namespace locus::client {
namespace {

using plot::Escape;

// Returns a number at a path such as "/configuration/trained/model/dim"; 0 if
// there is none.
int64_t NumberAt(const Manifest& manifest, const std::string& path) {
  const nlohmann::ordered_json::json_pointer pointer(path);
  if (!manifest.json.contains(pointer)) return 0;
  const nlohmann::ordered_json& value = manifest.json[pointer];
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

std::string Counted(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string ModelFact(const Manifest& manifest) {
  if (manifest.is_pattern()) {
    const std::string at = "/configuration/pattern/";
    const int64_t dim = NumberAt(manifest, at + "dim");
    if (dim == 0) return "";
    return absl::StrCat("1 untrained layer, width ", dim, ", ",
                        Counted(NumberAt(manifest, at + "head_count"), "head"));
  }
  const std::string at = "/configuration/trained/model/";
  const int64_t dim = NumberAt(manifest, at + "dim");
  if (dim == 0) return "";
  return absl::StrCat(Counted(NumberAt(manifest, at + "layer_count"), "layer"),
                      ", width ", dim, ", ",
                      Counted(NumberAt(manifest, at + "head_count"), "head"));
}

std::string TrainingFact(const Manifest& manifest) {
  const std::string at = "/configuration/trained/training/";
  const int64_t steps = NumberAt(manifest, at + "step_count");
  const int64_t batch = NumberAt(manifest, at + "batch_size");
  if (steps == 0) return "";
  return absl::StrCat(
      Counted(steps, "step"),
      batch > 0 ? absl::StrCat(" of ", batch, " sequences") : "");
}

std::string TextFact(const Manifest& manifest) {
  if (manifest.experiment != "text" && manifest.experiment != "retrofit") {
    return "";
  }
  const int64_t bytes =
      NumberAt(manifest, "/configuration/trained/corpus/bytes");
  return bytes == 0 ? "built-in text"
                    : absl::StrCat("text of ", bytes, " bytes");
}

std::string VersionFact(const Manifest& manifest) {
  const nlohmann::ordered_json::json_pointer path("/versions/locus");
  if (!manifest.json.contains(path) || !manifest.json[path].is_string()) {
    return "";
  }
  return absl::StrCat("locus ", manifest.json[path].get<std::string>());
}

std::string VerdictHeading(const Manifest& manifest,
                           const VerdictDetails& verdict) {
  // Manifests of older servers name a winner in pattern mode.
  if (manifest.is_pattern()) return "No winner: nothing was trained";
  if (verdict.winner.empty()) return "No winner";
  return absl::StrCat("Winner: ", verdict.winner);
}

// Returns the deciding metric in words, for the middle of a sentence.
std::string DecidingMetric(const Manifest& manifest) {
  const std::vector<std::string> metrics = MetricsOf(manifest);
  if (metrics.empty()) return "result";
  return absl::AsciiStrToLower(MetricOf(metrics.front()).title);
}

std::string ResultSentence(const Manifest& manifest, int64_t longest) {
  const VerdictDetails verdict = VerdictOf(manifest);
  if (verdict.winner.empty()) {
    return absl::StrCat("In this setting, the results at ", longest,
                        " tokens do not single out one scheme; the reason is "
                        "given above.");
  }
  return absl::StrCat(
      "Trained on at most ", manifest.train_length, " tokens, ", verdict.winner,
      " had the best ", DecidingMetric(manifest), " at ", longest,
      " tokens, and its lead is larger than the variation between seeds.");
}

std::string Meaning(absl::string_view means, absl::string_view means_not,
                    absl::string_view further) {
  return absl::StrCat(
      "<section class=\"meaning\">\n<p><strong>What this means.</strong> ",
      Escape(means), "</p>\n<p><strong>What it does not mean.</strong> ",
      Escape(means_not), " ", Escape(further), "</p>\n</section>\n");
}

}  // namespace

std::string ReportTitle(const Manifest& manifest) {
  if (manifest.is_pattern()) return "Attention patterns beyond their length";
  return absl::StrCat("Extrapolation: ", manifest.experiment);
}

std::string QuestionHtml(const Manifest& manifest) {
  const std::string lengths = absl::StrJoin(LengthsOf(manifest), ", ");
  const std::string question =
      manifest.is_pattern()
          ? absl::StrCat("One attention layer with seeded weights, built for ",
                         manifest.train_length,
                         " tokens and not trained. What does its attention "
                         "look like with each position scheme at ",
                         lengths, " tokens?")
          : absl::StrCat(
                "Small transformers, trained from scratch on the task "
                "\xe2\x80\x9c",
                manifest.experiment, "\xe2\x80\x9d with at most ",
                manifest.train_length,
                " tokens. How well does each position scheme do at ", lengths,
                " tokens?");
  return absl::StrCat("<p class=\"question\">", Escape(question), "</p>\n");
}

std::string EvaluationFacts(const Manifest& manifest) {
  return FactsLine(
      {manifest.is_pattern() ? std::string("pattern mode")
                             : absl::StrCat("task ", manifest.experiment),
       ModelFact(manifest), TrainingFact(manifest), TextFact(manifest),
       absl::StrCat(manifest.is_pattern() ? "built for " : "trained up to ",
                    manifest.train_length, " tokens"),
       Counted(SeedCountOf(manifest), "seed"), VersionFact(manifest)});
}

std::string VerdictCard(const Manifest& manifest) {
  const VerdictDetails verdict = VerdictOf(manifest);
  std::string html = "<section class=\"verdict\">\n";
  if (manifest.summary.partial()) {
    html +=
        "<p class=\"partial\"><strong>Partial.</strong> The evaluation ended "
        "early; these are the results up to then.</p>\n";
  }
  absl::StrAppend(&html, "<p class=\"winner\">",
                  Escape(VerdictHeading(manifest, verdict)),
                  "</p>\n<p id=\"reason\">", Escape(verdict.text), "</p>\n");
  if (!verdict.next_step.empty()) {
    absl::StrAppend(&html, "<p class=\"next\"><strong>Next:</strong> ",
                    Escape(verdict.next_step), "</p>\n");
  }
  return html + "</section>\n";
}

std::string MeaningHtml(const Manifest& manifest) {
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  if (lengths.empty()) return "";
  const std::string model = ModelFact(manifest);
  if (manifest.is_pattern()) {
    return Meaning(
        "The maps and charts describe how each scheme shapes the attention of "
        "one layer with random weights as the text becomes longer than the "
        "length the layer was built for.",
        "Nothing was trained, so no number here says that one scheme is better "
        "than another.",
        "A pattern that hardly changes may still be useless; only a trained "
        "evaluation, such as locus evaluate --task text, measures quality.");
  }
  return Meaning(
      ResultSentence(manifest, lengths.back()),
      absl::StrCat("The models are small",
                   model.empty() ? "" : absl::StrCat(" (", model, ")"),
                   " and were trained briefly: the order of the schemes can "
                   "change with size, data and training time."),
      absl::StrCat("Intervals are computed over ",
                   Counted(SeedCountOf(manifest), "seed"),
                   "; they cover initial weights and data order, but no other "
                   "tasks or texts."));
}

}  // namespace locus::client
