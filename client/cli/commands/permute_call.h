// The calls behind `locus attend --permute`.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "locus/client/client.h"

namespace locus::client {

// Attends to the tokens in their order and in the order `permutation`, such as
// "2,0,1", and returns both outputs, their difference and the verdict, as text
// or as JSON. Returns a usage error if the permutation does not fit.
absl::StatusOr<std::string> AttendWithPermutation(
    Client& client, v1::AttendRequest request, const std::string& permutation,
    bool json);

}  // namespace locus::client
