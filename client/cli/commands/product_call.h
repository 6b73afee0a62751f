// `locus encode --gram` and `--shift-matrix`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/support/cli11_fwd.h"
#include "locus/client/client.h"

namespace locus::client {

struct ProductFlags {
  bool gram = false;
  std::optional<int64_t> shift;

  bool any() const { return gram || shift.has_value(); }
};

// Adds --gram and --shift-matrix.
void AddProductFlags(CLI::App& command, ProductFlags& flags);

// Computes the codes of the request in FLOAT64, unless it has another type, and
// returns their products or the shift matrix, as text or as JSON. Returns a
// usage error if the request has an input, or the scheme no codes.
absl::StatusOr<std::string> EncodeProducts(Client& client,
                                           v1::EncodeRequest request,
                                           const ProductFlags& flags,
                                           bool json);

}  // namespace locus::client
