#include "client/cli/commands/permute_call.h"

#include <vector>

#include "client/base/status_macros.h"
#include "client/cli/render/json.h"
#include "client/cli/render/permutation.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/terminal.h"
#include "nlohmann/json.hpp"

namespace locus::client {

absl::StatusOr<std::string> AttendWithPermutation(
    Client& client, v1::AttendRequest request, const std::string& permutation,
    bool json) {
  const auto order = ParsePermutation(permutation);
  if (!order.ok()) return AsUsage(order.status(), "--permute");
  request.mutable_options()->clear_return_weights();
  request.mutable_options()->clear_return_log_sum_exp();
  const auto permuted = PermutedRequest(request, *order);
  if (!permuted.ok()) return AsUsage(permuted.status(), "--permute");
  CLIENT_ASSIGN_OR_RETURN(const PermutationResult result,
                          AttendPermuted(client, request, *order));
  if (json) {
    nlohmann::ordered_json document = {
        {"scheme", SchemeName(request.scheme())}};
    document["permutation"] = PermutationJson(result);
    return JsonLine(document);
  }
  const auto& tokens = request.module().tokens();
  return FormatPermutation(result, {tokens.begin(), tokens.end()},
                           OutputColumns());
}

}  // namespace locus::client
