#include <cstdint>
#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/json.h"
#include "client/cli/render/table.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/terminal.h"
#include "client/hf_config/hf_config.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr char kHfConfigExamples[] = R"(Examples:
  locus hf-config --hf-config config.json         # config.json to scheme
  locus hf-config --scheme 'rope { yarn { factor: 4 } }'   # and back
  locus explain --hf-config config.json           # explain its parameters)";

struct HfConfigFlags {
  SchemeFlags scheme;
  int64_t dim = 0;
};

std::string FormatModel(const HfModel& model) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  const auto text_of = [&](const v1::Scheme& scheme) {
    std::string text;
    printer.PrintToString(scheme, &text);
    return text;
  };
  std::vector<std::vector<std::string>> rows = {
      {"scheme", text_of(model.scheme)}};
  if (model.layered) rows.push_back({"with layers", text_of(*model.layered)});
  const auto add = [&](const char* name, int64_t size) {
    if (size > 0) rows.push_back({name, absl::StrCat(size)});
  };
  add("head dimension", model.head_dim);
  add("heads", model.head_count);
  add("trained length", model.trained_length);
  add("target length", model.target_length);
  return FormatRows(rows);
}

absl::StatusOr<Outcome> Run(const HfConfigFlags& flags) {
  if (!flags.scheme.hf_config.empty()) {
    CLIENT_ASSIGN_OR_RETURN(const HfModel model, ReadModel(flags.scheme));
    return Outcome{.text = FormatModel(model)};
  }
  CLIENT_ASSIGN_OR_RETURN(const v1::Scheme scheme, ReadScheme(flags.scheme));
  const auto fields = WriteHfConfig(scheme, flags.dim);
  if (!fields.ok()) return AsUsage(fields.status(), "--scheme");
  for (const std::string& note : UnwrittenOf(scheme)) WriteError(note);
  return Outcome{.text = absl::StrCat(fields->dump(2), "\n")};
}

}  // namespace

void AddHfConfig(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "hf-config",
      "Convert a Hugging Face config.json to a scheme, or a scheme to one");
  command->footer(kHfConfigExamples);
  auto flags = std::make_shared<HfConfigFlags>();
  AddSchemeFlags(*command, flags->scheme);
  command
      ->add_option("-d,--dim", flags->dim,
                   "Width of one head, needed for schemes with rotary_dim")
      ->type_name("N");
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
  // Without a command, --hf-config behaves like this command.
  CLI::Option* global =
      app.add_option(
             "--hf-config",
             "Print the scheme of a model's config.json; same as `locus "
             "hf-config`")
          ->type_name("JSON")
          ->expected(1);
  app.callback([&app, global, &action] {
    if (global->count() == 0) return;
    if (!app.get_subcommands().empty()) {
      action = []() -> absl::StatusOr<Outcome> {
        return UsageError("--hf-config must follow the command");
      };
      return;
    }
    action = [flags = HfConfigFlags{{.hf_config = global->as<std::string>()}}] {
      return Run(flags);
    };
  });
}

}  // namespace locus::client
