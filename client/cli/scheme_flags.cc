#include "client/cli/scheme_flags.h"

#include "CLI/CLI.hpp"
#include "client/cli/scheme_text.h"
#include "client/cli/usage.h"
#include "client/npy.h"
#include "client/status_macros.h"

namespace locus::client {

void AddSchemeFlags(CLI::App& command, SchemeFlags& flags) {
  command
      .add_option("-s,--scheme", flags.scheme,
                  "A name, or a scheme in protobuf text form; see `locus "
                  "schemes`")
      ->type_name("SCHEME")
      ->required();
  command
      .add_option("--table", flags.table,
                  "The scheme's table from a file (learned, t5_bias)")
      ->type_name("NPY");
}

absl::StatusOr<v1::Scheme> ReadScheme(const SchemeFlags& flags) {
  absl::StatusOr<v1::Scheme> scheme = ParseScheme(flags.scheme);
  if (!scheme.ok()) return AsUsage(scheme.status(), "--scheme");
  if (flags.table.empty()) return scheme;
  const absl::StatusOr<v1::Tensor> table = ReadNpy(flags.table);
  if (!table.ok()) return AsUsage(table.status(), "--table");
  CLIENT_RETURN_IF_ERROR(AsUsage(SetTable(*table, &*scheme), "--table"));
  return scheme;
}

}  // namespace locus::client
