#include "client/cli/requests/scheme_flags.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
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
  if (!model.ok()) return AsUsage(model.status(), "--hf-config");
  for (const std::string& note : model->notes) {
    WriteError(absl::StrCat("--hf-config: ", note));
  }
  return model;
}

}  // namespace

void AddSchemeFlags(CLI::App& command, SchemeFlags& flags) {
  CLI::Option* scheme =
      command
          .add_option("-s,--scheme", flags.scheme,
                      "Name of a scheme, or its protobuf text format; see "
                      "`locus schemes`")
          ->type_name("SCHEME");
  command
      .add_option("--hf-config", flags.hf_config,
                  "Take the scheme from a model's config.json")
      ->type_name("JSON")
      ->excludes(scheme);
  command
      .add_option("--table", flags.table,
                  "Table of the scheme, for learned and t5_bias")
      ->type_name("NPY");
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

absl::StatusOr<std::vector<v1::Scheme>> ReadConfigs(
    const std::vector<std::string>& paths, int64_t layer_count) {
  std::vector<v1::Scheme> schemes;
  for (const std::string& path : paths) {
    CLIENT_ASSIGN_OR_RETURN(HfModel model, ReadConfig(path));
    if (!model.layered) {
      schemes.push_back(std::move(model.scheme));
    } else if (model.layered->layers().period() <= layer_count) {
      schemes.push_back(*std::move(model.layered));
    } else {
      WriteError(absl::StrCat("--hf-config: layers alternate with period ",
                              model.layered->layers().period(),
                              ", which needs more layers than ", layer_count,
                              "; all layers use the same scheme"));
      schemes.push_back(std::move(model.scheme));
    }
  }
  return schemes;
}

absl::StatusOr<HfModel> ReadModel(const SchemeFlags& flags) {
  HfModel model;
  if (!flags.hf_config.empty()) {
    CLIENT_ASSIGN_OR_RETURN(model, ReadConfig(flags.hf_config));
  } else if (flags.scheme.empty()) {
    return UsageError("--scheme is required");
  } else {
    absl::StatusOr<v1::Scheme> scheme = ParseScheme(flags.scheme);
    if (!scheme.ok()) return AsUsage(scheme.status(), "--scheme");
    model.scheme = *std::move(scheme);
  }
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

}  // namespace locus::client
