// The flags that select a scheme.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/support/cli11_fwd.h"
#include "client/hf_config/hf_config.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

struct SchemeFlags {
  // A scheme in the format of ParseScheme().
  std::string scheme;
  // Path of a .npy file with the table of the scheme; may be empty.
  std::string table;
  // Path of a model's config.json, instead of `scheme`.
  std::string hf_config;
};

// Adds --scheme, --hf-config and --table.
void AddSchemeFlags(CLI::App& command, SchemeFlags& flags);

// Adds a repeatable --hf-config, for commands that take several schemes.
void AddConfigsFlag(CLI::App& command, std::vector<std::string>& paths,
                    const char* group = "Options");
// Reads the schemes of several configurations. A configuration whose layers use
// different schemes keeps them if its period is at most `layer_count`;
// otherwise all layers use the same scheme. Notes are printed as by
// ReadScheme().
absl::StatusOr<std::vector<v1::Scheme>> ReadConfigs(
    const std::vector<std::string>& paths, int64_t layer_count = 1);

// Reads the scheme that the flags select. Returns a usage error if the text or
// a file is invalid. Prints a note on standard error for each field of a
// configuration that is not supported.
absl::StatusOr<v1::Scheme> ReadScheme(const SchemeFlags& flags);

// Like ReadScheme(), and also returns the sizes in the configuration. They are
// 0 without a configuration.
absl::StatusOr<HfModel> ReadModel(const SchemeFlags& flags);

}  // namespace locus::client
