#include "client/cli/requests/scheme_flags.h"

#include <functional>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/requests/scheme_sizes.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/terminal.h"
#include "client/io/file.h"
#include "locus/client/npy.h"

namespace locus::client {
namespace {

// Maximum size of a config.json; larger files are rejected.
constexpr int64_t kMaxConfigBytes = int64_t{16} << 20;

absl::StatusOr<HfModel> ReadConfigFile(const std::string& path) {
  CLIENT_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  CLIENT_ASSIGN_OR_RETURN(const std::string text, file.Read(kMaxConfigBytes));
  absl::StatusOr<HfModel> model = ReadHfConfig(text);
  if (model.ok()) return model;
  return absl::InvalidArgumentError(
      absl::StrCat(file.name(), ": ", model.status().message()));
}

// Reads a config.json and prints its notes on standard error.
absl::StatusOr<HfModel> ReadConfig(const std::string& path) {
  absl::StatusOr<HfModel> model = ReadConfigFile(path);
  if (!model.ok()) return AsUsage(model.status());
  model->file_name = path.substr(path.rfind('/') + 1);
  for (const std::string& note : model->notes) {
    WriteError(absl::StrCat(model->file_name, ": ", note));
  }
  return model;
}

// No text of a scheme ends like this.
bool IsConfigPath(const std::string& text) {
  return absl::EndsWithIgnoreCase(text, ".json");
}

absl::StatusOr<HfModel> ReadModelOfConfig(const std::string& path,
                                          BiasDirection direction) {
  CLIENT_ASSIGN_OR_RETURN(HfModel model, ReadConfig(path));
  if (direction == BiasDirection::kTwoSided) MakeTwoSided({}, &model.scheme);
  return model;
}

// Reads the text of a scheme, or the config.json that it names.
absl::StatusOr<HfModel> ReadOne(const std::string& text,
                                BiasDirection direction) {
  if (IsConfigPath(text)) return ReadModelOfConfig(text, direction);
  absl::StatusOr<ParsedScheme> parsed = ParseSchemeText(text);
  if (!parsed.ok()) return AsUsage(parsed.status(), "scheme");
  if (direction == BiasDirection::kTwoSided) {
    MakeTwoSided(parsed->given, &parsed->scheme);
  }
  HfModel model;
  model.scheme = std::move(parsed->scheme);
  return model;
}

// The scheme for a model with `layer_count` layers.
v1::Scheme SchemeForLayers(HfModel model, int64_t layer_count) {
  if (!model.layered) return std::move(model.scheme);
  const int64_t period = model.layered->layers().period();
  if (period <= layer_count) return *std::move(model.layered);
  WriteError(absl::StrCat(model.file_name, ": layers alternate with period ",
                          period, ", which needs more layers than ",
                          layer_count, "; all layers use the same scheme"));
  return std::move(model.scheme);
}

}  // namespace

void AddSchemeFlags(CLI::App& command, SchemeFlags& flags) {
  CLI::Option* argument =
      command
          .add_option("SCHEME", flags.scheme,
                      "A scheme, such as rope or rope:base=500000 (see `locus "
                      "schemes`), or a model's config.json")
          ->type_name("SCHEME");
  CLI::Option* scheme = command
                            .add_option("-s,--scheme", flags.scheme,
                                        "Same as the argument SCHEME")
                            ->type_name("SCHEME")
                            ->excludes(argument);
  command
      .add_option("--hf-config", flags.hf_config,
                  "Take the scheme from a model's config.json")
      ->type_name("JSON")
      ->excludes(argument)
      ->excludes(scheme);
  command
      .add_option("--table", flags.table,
                  "Table of the scheme, for learned and t5_bias")
      ->type_name("NPY");
}

void AddSchemesFlag(CLI::App& command, std::vector<std::string>& schemes,
                    const std::string& description, const char* group) {
  const std::function<void(const std::vector<std::string>&)> append =
      [&schemes](const std::vector<std::string>& given) {
        schemes.insert(schemes.end(), given.begin(), given.end());
      };
  command.add_option_function("SCHEME", append, description)
      ->type_name("SCHEME");
  command
      .add_option_function("-s,--scheme", append,
                           "Same as the argument SCHEME; may be repeated")
      ->type_name("SCHEME")
      ->allow_extra_args(false)
      ->group(group);
}

void AddConfigsFlag(CLI::App& command, std::vector<std::string>& paths,
                    const char* group) {
  command
      .add_option("--hf-config", paths,
                  "Take a scheme from a model's config.json; may be repeated")
      ->type_name("JSON")
      ->allow_extra_args(false)
      ->group(group);
}

BiasDirection DirectionFor(bool causal) {
  return causal ? BiasDirection::kAsGiven : BiasDirection::kTwoSided;
}

absl::StatusOr<HfModel> ReadModel(const SchemeFlags& flags,
                                  BiasDirection direction) {
  if (flags.hf_config.empty() && flags.scheme.empty()) {
    return UsageError(
        "a scheme is required, such as rope (see `locus schemes`)");
  }
  CLIENT_ASSIGN_OR_RETURN(HfModel model,
                          flags.hf_config.empty()
                              ? ReadOne(flags.scheme, direction)
                              : ReadModelOfConfig(flags.hf_config, direction));
  if (flags.table.empty()) return model;
  const absl::StatusOr<v1::Tensor> table = ReadNpy(flags.table);
  if (!table.ok()) return AsUsage(table.status(), "--table");
  CLIENT_RETURN_IF_ERROR(AsUsage(SetTable(*table, &model.scheme), "--table"));
  return model;
}

absl::StatusOr<v1::Scheme> ReadScheme(const SchemeFlags& flags) {
  CLIENT_ASSIGN_OR_RETURN(HfModel model, ReadModel(flags));
  return std::move(model.scheme);
}

absl::StatusOr<std::vector<HfModel>> ReadModels(
    const std::vector<std::string>& schemes,
    const std::vector<std::string>& config_paths, BiasDirection direction) {
  std::vector<HfModel> models;
  for (const std::string& text : schemes) {
    CLIENT_ASSIGN_OR_RETURN(HfModel model, ReadOne(text, direction));
    models.push_back(std::move(model));
  }
  for (const std::string& path : config_paths) {
    CLIENT_ASSIGN_OR_RETURN(HfModel model, ReadModelOfConfig(path, direction));
    models.push_back(std::move(model));
  }
  return models;
}

absl::StatusOr<std::vector<v1::Scheme>> ReadSchemes(
    const std::vector<std::string>& schemes,
    const std::vector<std::string>& config_paths, int64_t layer_count) {
  CLIENT_ASSIGN_OR_RETURN(std::vector<HfModel> models,
                          ReadModels(schemes, config_paths));
  std::vector<v1::Scheme> result;
  for (HfModel& model : models) {
    result.push_back(SchemeForLayers(std::move(model), layer_count));
  }
  return result;
}

FlagHints SchemeHints(const v1::Scheme& scheme) {
  FlagHints hints;
  const std::string name = SchemeName(scheme);
  const auto* kind = v1::Scheme::descriptor()->FindFieldByName(name);
  if (kind != nullptr) {
    const google::protobuf::Message& message =
        v1::Scheme::GetReflection()->GetMessage(scheme, kind);
    const auto* rotated = kind->message_type()->FindFieldByName("rotary_dim");
    if (rotated != nullptr &&
        !message.GetReflection()->HasField(message, rotated)) {
      hints.emplace_back(absl::StrCat("scheme.", name, ".rotary_dim"), "--dim");
    }
  }
  hints.emplace_back("scheme", "scheme");
  return hints;
}

std::string SizesNote(const HfModel& model, int64_t dim, int64_t head_count) {
  if (model.file_name.empty()) return "";
  std::vector<std::string> sizes;
  if (dim > 0) sizes.push_back(absl::StrCat("dim ", dim));
  if (head_count > 0) {
    sizes.push_back(
        absl::StrCat(head_count, head_count == 1 ? " head" : " heads"));
  }
  if (sizes.empty()) return "";
  return absl::StrCat("(", absl::StrJoin(sizes, ", "), " from ",
                      model.file_name, ")");
}

}  // namespace locus::client
