#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/commands/compare_call.h"
#include "client/cli/commands/explain_call.h"
#include "client/cli/render/comparison.h"
#include "client/cli/render/json.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr char kCompareExamples[] = R"(Examples:
  locus compare rope 'rope { yarn { factor: 4 } }'
  locus compare rope 'rope { base: 500000 }' --trained 8192 --target 32768
  locus compare llama2.json llama31.json -o wavelengths.svg
  locus compare alibi kerple t5_bias --heads 8 --causal --all
  locus compare none rope alibi --tokens "to be or not to be" -o attention.svg

Ratios and differences are relative to the first scheme.)";

constexpr size_t kMinSchemes = 2;
constexpr size_t kMaxSchemes = 8;

struct CompareFlags {
  CommonFlags common;
  std::vector<std::string> schemes;
  std::vector<std::string> configs;
  std::optional<uint64_t> seed;
  std::string tokens = "the cat sat on the mat";
  CompareRequest request;
  bool all = false;
  std::string out;
  std::string theme;
};

absl::StatusOr<CompareRequest> MakeRequest(const CompareFlags& flags) {
  const size_t count = flags.schemes.size() + flags.configs.size();
  if (count < kMinSchemes || count > kMaxSchemes) {
    return UsageError(absl::StrCat(
        "give ", kMinSchemes, " to ", kMaxSchemes,
        " schemes or configurations to compare, such as `locus compare rope "
        "alibi`; there ",
        count == 1 ? "is 1" : absl::StrCat("are ", count)));
  }
  CompareRequest request = flags.request;
  if (request.dim < 0 || request.head_count < 0 || request.length < 1 ||
      request.trained_length < 0 || !(request.target_length >= 0)) {
    return UsageError(
        "--dim, --heads, --trained and --target must not be negative, and "
        "--length must be at least 1");
  }
  request.seed = flags.seed.value_or(0);
  for (const absl::string_view word : absl::StrSplit(
           flags.tokens, absl::ByAnyChar(" \t\n"), absl::SkipWhitespace())) {
    request.words.emplace_back(word);
  }
  if (request.words.empty()) return UsageError("--tokens: contains no words");
  CLIENT_ASSIGN_OR_RETURN(request.models,
                          ReadModels(flags.schemes, flags.configs));
  return request;
}

FlagHints CompareHints() {
  return {{"dim", "--dim"},
          {"head_count", "--heads"},
          {"positions", "--length"},
          {"trained_length", "--trained"},
          {"target_length", "--target"},
          {"module.head_count", "--heads"},
          {"module.dim", "--dim"},
          {"module.tokens", "--tokens"},
          {"options.causal", "--causal"},
          {"scheme", "the argument SCHEME"}};
}

absl::StatusOr<Outcome> Run(const CompareFlags& flags) {
  CLIENT_ASSIGN_OR_RETURN(
      const PictureFile picture,
      ReadOptionalPicture(flags.out, flags.theme, "--out", flags.common.json));
  CLIENT_ASSIGN_OR_RETURN(const CompareRequest request, MakeRequest(flags));
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  const absl::StatusOr<Comparison> comparison =
      CompareSchemes(*session.client, request);
  if (!comparison.ok()) {
    return WithFlagHint(comparison.status(), CompareHints());
  }
  const std::string text =
      flags.common.json
          ? JsonLine(ComparisonJson(*comparison))
          : ComparisonText(*comparison,
                           {.all = flags.all, .width = OutputColumns()});
  if (flags.out.empty()) return Outcome{.text = text};
  const absl::StatusOr<plot::LineChart> chart = ComparisonChart(*comparison);
  if (!chart.ok()) return AsUsage(chart.status(), "--out");
  return PrintAndDraw(text, flags.common.json, *chart, picture);
}

void AddSizeFlags(CLI::App& command, CompareFlags& flags) {
  const auto add = [&command](const char* name, auto& target, const char* type,
                              const char* description) {
    command.add_option(name, target, description)->type_name(type);
  };
  add("-d,--dim", flags.request.dim, "N",
      "Width of one head or of the embeddings; default: that of a "
      "configuration, or 64");
  add("--heads", flags.request.head_count, "N",
      "Number of heads; default: that of a configuration, or 8 for biases and "
      "1 otherwise");
  add("--trained", flags.request.trained_length, "N",
      "Training length; default: that of the scaling or the configuration");
  add("--target", flags.request.target_length, "N",
      "Target length; default: the longest target of the schemes, or 4 times "
      "the training length");
  add("--length", flags.request.length, "N",
      "Number of distances for biases; default 256");
  add("-t,--tokens", flags.tokens, "WORDS",
      "Sentence to compare attention on; default \"the cat sat on the mat\"");
  command.add_flag("--causal", flags.request.causal,
                   "Hide keys after the query");
  AddSeedFlag(command, flags.seed,
              "Seed of the random layer weights; default 0", "Options");
}

}  // namespace

void AddCompare(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Compare schemes side by side: wavelengths, turns, biases, attention");
  command->footer(kCompareExamples);
  auto flags = std::make_shared<CompareFlags>();
  AddSchemesFlag(*command, flags->schemes,
                 "2 to 8 schemes, such as rope or alibi (see `locus schemes`), "
                 "or models' config.json");
  AddConfigsFlag(*command, flags->configs);
  AddSizeFlags(*command, *flags);
  command->add_flag("--all", flags->all, "Show all pairs and heads");
  command
      ->add_option("-o,--out,--output", flags->out,
                   "Draw all schemes in one chart to this file, .svg or .png")
      ->type_name("FILE");
  command
      ->add_option("--theme", flags->theme,
                   "Theme of the chart: auto (default), light or dark")
      ->type_name("THEME");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
