// The arguments and flags that select schemes.
//
// Wherever a command takes a scheme, it can be written as an argument without a
// flag (`locus encode rope`), with --scheme, or as a model's config.json
// (`locus encode config.json`, or with --hf-config).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/support/cli11_fwd.h"
#include "client/cli/support/cli_errors.h"
#include "client/hf_config/hf_config.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// The width of one head or of the embeddings if neither a flag nor a
// configuration gives one. All commands use it.
inline constexpr int64_t kDefaultDim = 64;

struct SchemeFlags {
  // A scheme in the format of ParseScheme(), or the path of a config.json.
  std::string scheme;
  // Path of a .npy file with the table of the scheme; may be empty.
  std::string table;
  // Path of a model's config.json, instead of `scheme`.
  std::string hf_config;
};

// Adds the argument SCHEME with its flag --scheme, and --hf-config and --table.
// Arguments that the command takes before the scheme must have been added
// already.
void AddSchemeFlags(CLI::App& command, SchemeFlags& flags);

// Adds the argument SCHEME, which may be repeated, with its flag --scheme, for
// commands that take several schemes. Both append to `schemes`: arguments
// first, then flags. Each element is a scheme or the path of a config.json.
// Read them with ReadModels() or ReadSchemes().
void AddSchemesFlag(CLI::App& command, std::vector<std::string>& schemes,
                    const std::string& description,
                    const char* group = "Options");
// Adds a repeatable --hf-config, for commands that take several schemes.
void AddConfigsFlag(CLI::App& command, std::vector<std::string>& paths,
                    const char* group = "Options");

// The direction of biases such as ALiBi, KERPLE and T5, which by default are
// defined for keys before the query only.
enum class BiasDirection {
  // As in the text or the configuration.
  kAsGiven,
  // Also for keys after the query, which attention that is not causal needs. A
  // value in the text of the scheme wins.
  kTwoSided,
};
// The direction for attention with or without --causal.
BiasDirection DirectionFor(bool causal);

// Reads the scheme that the flags select, with the sizes of the configuration;
// the sizes are 0 without one. Returns a usage error if the text or a file is
// invalid. Prints a note on standard error for each field of a configuration
// that is not supported.
absl::StatusOr<HfModel> ReadModel(
    const SchemeFlags& flags,
    BiasDirection direction = BiasDirection::kAsGiven);

// Like ReadModel(), and returns only the scheme.
absl::StatusOr<v1::Scheme> ReadScheme(const SchemeFlags& flags);

// Reads `schemes` (see AddSchemesFlag()) and then the configurations
// `config_paths`. Errors and notes are those of ReadModel().
absl::StatusOr<std::vector<HfModel>> ReadModels(
    const std::vector<std::string>& schemes,
    const std::vector<std::string>& config_paths,
    BiasDirection direction = BiasDirection::kAsGiven);

// Like ReadModels(), and returns only the schemes. A configuration whose layers
// use different schemes keeps them if its period is at most `layer_count`;
// otherwise all layers use the same scheme, and a note says so.
absl::StatusOr<std::vector<v1::Scheme>> ReadSchemes(
    const std::vector<std::string>& schemes,
    const std::vector<std::string>& config_paths, int64_t layer_count = 1);

// Pairs for WithFlagHint() for errors in the scheme of a call. If the scheme
// does not set the number of rotated channels, it is the width of a head.
FlagHints SchemeHints(const v1::Scheme& scheme);

// "(dim 128, 32 heads from llama31.json)" for the sizes that a command took
// from the configuration of `model`. Sizes that are 0 are left out. Empty if
// nothing is left, or if the model comes from no configuration.
std::string SizesNote(const HfModel& model, int64_t dim, int64_t head_count);

}  // namespace locus::client
