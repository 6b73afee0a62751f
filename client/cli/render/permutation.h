// `attend --permute`: whether permuting the tokens permutes the outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/matrix.h"
#include "locus/client/client.h"
#include "locus/v1/attention.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// Parses a permutation such as "2,0,1". INVALID_ARGUMENT unless every number
// from 0 to the count minus 1 occurs exactly once.
absl::StatusOr<std::vector<int64_t>> ParsePermutation(const std::string& text);

// The request with its tokens, or the rows of its embeddings x, in another
// order. Positions, masks and weights stay. INVALID_ARGUMENT if the request has
// queries, keys and values instead, or another number of tokens.
absl::StatusOr<v1::AttendRequest> PermutedRequest(
    const v1::AttendRequest& request, const std::vector<int64_t>& order);

// The outputs of a layer for the tokens in their order and permuted.
struct PermutationResult {
  std::vector<int64_t> order;
  RealMatrix y;              // output of the tokens, [tokens, width]
  RealMatrix permuted_y;     // rows of y in the order `order`
  RealMatrix y_of_permuted;  // output of the permuted tokens
  RealMatrix difference;     // y_of_permuted - permuted_y
  double max_difference = 0;
};
// Largest difference of outputs that count as equal.
inline constexpr double kEquivarianceTolerance = 1e-6;
inline bool IsEquivariant(const PermutationResult& result) {
  return result.max_difference < kEquivarianceTolerance;
}

// Compares the outputs of the two requests. Both must have the shape
// [1, tokens, width].
absl::StatusOr<PermutationResult> ComparePermuted(
    const std::vector<int64_t>& order, const v1::Tensor& output,
    const v1::Tensor& output_of_permuted);

// Calls Attend for both orders and compares the outputs.
absl::StatusOr<PermutationResult> AttendPermuted(
    Client& client, const v1::AttendRequest& request,
    const std::vector<int64_t>& order);

// "[2, 0, 1]".
std::string OrderName(const std::vector<int64_t>& order);

// The three outputs, their difference and the verdict. `words` label the rows;
// if it is empty, indices do.
std::string FormatPermutation(const PermutationResult& result,
                              const std::vector<std::string>& words, int width);
nlohmann::ordered_json PermutationJson(const PermutationResult& result);

}  // namespace locus::client
