// The flags that name a scheme.
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
  std::string scheme;
  std::string table;
  // A model's config.json, instead of `scheme`.
  std::string hf_config;
};

void AddSchemeFlags(CLI::App& command, SchemeFlags& flags);

// For commands that take several schemes: those of some configurations, said as
// below of what was not understood.
void AddConfigsFlag(CLI::App& command, std::vector<std::string>& paths,
                    const char* group = "OPTIONS");
// Layers that differ are kept where there are so many that each kind has one.
absl::StatusOr<std::vector<v1::Scheme>> ReadConfigs(
    const std::vector<std::string>& paths, int64_t layer_count = 1);

// A usage error if the text or the file makes no sense. What a configuration
// holds that was not understood is said on standard error.
absl::StatusOr<v1::Scheme> ReadScheme(const SchemeFlags& flags);

// The same with the sizes that a configuration has; 0 without one.
absl::StatusOr<HfModel> ReadModel(const SchemeFlags& flags);

}  // namespace locus::client
