// The flags that name a scheme.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/cli/cli11_fwd.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

struct SchemeFlags {
  std::string scheme;
  std::string table;
};

void AddSchemeFlags(CLI::App& command, SchemeFlags& flags);

// A usage error if the text or the file makes no sense.
absl::StatusOr<v1::Scheme> ReadScheme(const SchemeFlags& flags);

}  // namespace locus::client
