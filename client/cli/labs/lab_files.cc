#include "client/cli/labs/lab_files.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/io/file.h"
#include "client/plot/provenance.h"
#include "client/plot/render_file.h"
#include "core/simd/gemm.h"
#include "locus_build_info.h"

namespace locus::client {
namespace {

#if defined(__clang__)
constexpr char kLabCompiler[] = "clang " __clang_version__;
#else
constexpr char kLabCompiler[] = "gcc " __VERSION__;
#endif

constexpr Text kLab = {"Lab", "Laboratorio"};
constexpr Text kRepeat = {"Command that repeats this run:",
                          "Orden que repite esta ejecución:"};
constexpr Text kPrintout = {
    "`demo_output.txt` has the complete printout, and `manifest.json` the "
    "settings and results.",
    "`demo_output.txt` contiene la salida completa, y `manifest.json` los "
    "ajustes y los resultados."};
constexpr Text kAssertions = {"Assertions", "Comprobaciones"};
constexpr Text kFigures = {"Figures", "Figuras"};
constexpr Text kInterpretation = {"Interpretation", "Interpretación"};
constexpr Text kQuestions = {"Open questions", "Preguntas abiertas"};
constexpr Text kAnswered = {"Questions and answers", "Preguntas y respuestas"};

// An argument for a POSIX shell, in double quotes.
std::string QuotedArgument(const std::string& text) {
  return absl::StrCat(
      "\"",
      absl::StrReplaceAll(
          text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"$", "\\$"}, {"`", "\\`"}}),
      "\"");
}

}  // namespace

std::string LabCommand(const Lab& lab, const LabOptions& options) {
  std::string command = absl::StrCat("locus lab ", lab.name);
  const auto add = [&command](absl::string_view flag, const auto& value) {
    absl::StrAppend(&command, " ", flag, " ", value);
  };
  if (options.seed != 0) add("--seed", options.seed);
  if (!options.tokens.empty()) {
    add("--tokens", QuotedArgument(absl::StrJoin(options.tokens, " ")));
  }
  if (options.dim.has_value()) add("--dim", *options.dim);
  if (options.seed_count.has_value()) add("--seeds", *options.seed_count);
  if (options.step_count.has_value()) add("--steps", *options.step_count);
  if (options.language == Language::kSpanish) add("--lang", "es");
  if (options.answers) absl::StrAppend(&command, " --answers");
  return command;
}

std::string LabManifest(const Lab& lab, const LabOptions& options,
                        const LabReport& report, absl::Time now) {
  nlohmann::ordered_json results = report.results();
  results["assertions"] = report.assertions().size();
  results["failed_assertions"] = report.failed_count();
  const nlohmann::ordered_json manifest = {
      {"experiment", std::string(lab.name)},
      {"date", absl::FormatTime("%Y-%m-%d", now, absl::UTCTimeZone())},
      {"seed", options.seed},
      {"versions",
       {{"locus", LOCUS_VERSION},
        {"compiler", kLabCompiler},
        {"instruction_set", InstructionSet()}}},
      {"config", report.config()},
      {"results_summary", results}};
  return absl::StrCat(
      manifest.dump(2, ' ', false,
                    nlohmann::ordered_json::error_handler_t::replace),
      "\n");
}

std::string LabReadme(const Lab& lab, const LabOptions& options,
                      const LabReport& report) {
  const Language language = options.language;
  std::string text = absl::StrCat(
      "# ", kLab.In(language), ": ", lab.title.In(language), "\n\n",
      lab.summary.In(language), "\n\n", kRepeat.In(language), "\n\n```\n",
      LabCommand(lab, options), "\n```\n\n", kPrintout.In(language), "\n\n## ",
      kAssertions.In(language), "\n\n");
  for (const LabReport::Assertion& assertion : report.assertions()) {
    absl::StrAppend(&text, "- ", assertion.passed ? "PASS" : "**FAIL**", ": ",
                    assertion.claim, "\n");
  }
  if (!report.figures().empty()) {
    absl::StrAppend(&text, "\n## ", kFigures.In(language), "\n");
  }
  for (const LabReport::Figure& figure : report.figures()) {
    absl::StrAppend(&text, "\n![", figure.caption, "](", figure.name,
                    ".svg)\n\n*", figure.caption, "*\n");
  }
  absl::StrAppend(&text, "\n## ", kInterpretation.In(language), "\n\n",
                  absl::StrJoin(report.interpretation(), "\n\n"), "\n\n## ",
                  (options.answers ? kAnswered : kQuestions).In(language),
                  "\n\n");
  int number = 0;
  for (const Question& question : lab.questions) {
    absl::StrAppend(&text, ++number, ". ", question.question.In(language),
                    "\n");
    if (options.answers) {
      absl::StrAppend(&text, "\n   ", question.answer.In(language), "\n\n");
    }
  }
  return text;
}

absl::StatusOr<int> WriteLab(const std::string& folder, const Lab& lab,
                             const LabOptions& options, const LabReport& report,
                             absl::Time now) {
  const auto path = [&folder](absl::string_view name) {
    return absl::StrCat(folder, "/", name);
  };
  FileReplacement replacement;
  int count = 0;
  const auto add = [&](absl::string_view name, const std::string& bytes) {
    ++count;
    return replacement.Add(path(name), bytes);
  };
  CLIENT_RETURN_IF_ERROR(add("demo_output.txt", Printable(report.story())));
  CLIENT_RETURN_IF_ERROR(
      add("README.md", Printable(LabReadme(lab, options, report))));
  CLIENT_RETURN_IF_ERROR(
      add("manifest.json", Printable(LabManifest(lab, options, report, now))));
  for (const LabReport::Figure& figure : report.figures()) {
    plot::Scene scene = figure.scene;
    plot::AddProvenance({.command = LabCommand(lab, options),
                         .software = "locus " LOCUS_VERSION},
                        scene);
    for (const char* extension : {".svg", ".png"}) {
      const std::string name = absl::StrCat(figure.name, extension);
      CLIENT_ASSIGN_OR_RETURN(const plot::Format format,
                              plot::FormatOfPath(name));
      CLIENT_ASSIGN_OR_RETURN(const std::string bytes,
                              plot::Render(scene, format, plot::Theme::kAuto));
      CLIENT_RETURN_IF_ERROR(
          add(name, format == plot::Format::kSvg ? Printable(bytes) : bytes));
    }
  }
  CLIENT_RETURN_IF_ERROR(replacement.Commit());
  return count;
}

}  // namespace locus::client
