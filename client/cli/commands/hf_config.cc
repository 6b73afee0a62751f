#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
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
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kHfConfigExamples[] = R"(Examples:
  locus hf-config config.json                   # config.json to scheme
  locus hf-config config.json --json
  locus hf-config rope:yarn.factor=4            # scheme to config.json
  locus explain config.json                     # explain its parameters)";

struct HfConfigFlags {
  SchemeFlags scheme;
  std::optional<int64_t> dim = std::nullopt;
  bool json = false;
};

// The scheme in protobuf text format, on one line.
std::string TextOf(const v1::Scheme& scheme) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(scheme, &text);
  absl::StripTrailingAsciiWhitespace(&text);
  return text;
}

std::string FormatModel(const HfModel& model) {
  std::vector<std::vector<std::string>> rows = {
      {"scheme", TextOf(model.scheme)}};
  if (model.layered) rows.push_back({"with layers", TextOf(*model.layered)});
  const auto add = [&](const char* name, int64_t size) {
    if (size > 0) rows.push_back({name, absl::StrCat(size)});
  };
  add("head dimension", model.head_dim);
  add("heads", model.head_count);
  add("embedding width", model.embedding_dim);
  add("trained length", model.trained_length);
  add("target length", model.target_length);
  return FormatRows(rows);
}

absl::StatusOr<Json> SchemeJson(const v1::Scheme& scheme) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status =
      google::protobuf::util::MessageToJsonString(scheme, &text, options);
  if (!status.ok()) return absl::InternalError(status.ToString());
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

absl::StatusOr<std::string> FormatModelJson(const HfModel& model) {
  Json json = {{"file", model.file_name}};
  CLIENT_ASSIGN_OR_RETURN(json["scheme"], SchemeJson(model.scheme));
  json["scheme_text"] = TextOf(model.scheme);
  if (model.layered) {
    CLIENT_ASSIGN_OR_RETURN(json["layered_scheme"], SchemeJson(*model.layered));
  }
  const auto add = [&](const char* name, int64_t size) {
    if (size > 0) json[name] = size;
  };
  add("head_dim", model.head_dim);
  add("head_count", model.head_count);
  add("embedding_dim", model.embedding_dim);
  add("trained_length", model.trained_length);
  add("target_length", model.target_length);
  json["notes"] = model.notes;
  return JsonLine(json);
}

absl::StatusOr<Outcome> Run(const HfConfigFlags& flags) {
  CLIENT_ASSIGN_OR_RETURN(const HfModel model, ReadModel(flags.scheme));
  if (!model.file_name.empty()) {
    if (flags.dim.has_value()) {
      return UsageError("--dim needs a scheme; a configuration has its own");
    }
    if (!flags.json) return Outcome{.text = FormatModel(model)};
    CLIENT_ASSIGN_OR_RETURN(std::string text, FormatModelJson(model));
    return Outcome{.text = std::move(text)};
  }
  const auto fields = WriteHfConfig(model.scheme, flags.dim.value_or(0));
  if (!fields.ok()) return AsUsage(fields.status(), "SCHEME");
  for (const std::string& note : UnwrittenOf(model.scheme)) WriteError(note);
  return Outcome{.text = flags.json ? JsonLine(*fields)
                                    : absl::StrCat(fields->dump(2), "\n")};
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
  command->add_flag("--json", flags->json, "Print JSON on one line");
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
