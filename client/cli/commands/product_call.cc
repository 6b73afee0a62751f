#include "client/cli/commands/product_call.h"

#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/render/code_products.h"
#include "client/cli/render/json.h"
#include "client/cli/requests/positions.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/terminal.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

// Tables of more positions are unreadable.
constexpr int64_t kMaxGramPositions = 256;
constexpr int64_t kMaxShiftPositions = 65536;

absl::Status CheckProductRequest(const v1::EncodeRequest& request,
                                 const ProductFlags& flags) {
  if (flags.gram && flags.shift.has_value()) {
    return UsageError("give either --gram or --shift-matrix");
  }
  const char* flag = flags.gram ? "--gram" : "--shift-matrix";
  if (request.has_input()) {
    return UsageError(absl::StrCat(flag, " and --input exclude each other"));
  }
  const int64_t limit = flags.gram ? kMaxGramPositions : kMaxShiftPositions;
  const int64_t count = PositionCount(request.positions());
  if (count > limit) {
    return UsageError(absl::StrCat("--positions: has ", count, " positions; ",
                                   flag, " takes at most ", limit));
  }
  return absl::OkStatus();
}

}  // namespace

void AddProductFlags(CLI::App& command, ProductFlags& flags) {
  command.add_flag("--gram", flags.gram,
                   "Print dot products and cosines of the codes instead");
  command
      .add_option("--shift-matrix", flags.shift,
                  "Print the matrix M_K with PE(p + K) = M_K PE(p) instead")
      ->type_name("K");
}

absl::StatusOr<std::string> EncodeProducts(Client& client,
                                           v1::EncodeRequest request,
                                           const ProductFlags& flags,
                                           bool json) {
  CLIENT_RETURN_IF_ERROR(CheckProductRequest(request, flags));
  if (request.dtype() == v1::DATA_TYPE_UNSPECIFIED) {
    request.set_dtype(v1::DATA_TYPE_FLOAT64);
  }
  std::vector<int64_t> positions;
  for (int64_t n = 0; n < PositionCount(request.positions()); ++n) {
    positions.push_back(PositionAt(request.positions(), n));
  }
  if (flags.shift.has_value()) {
    const auto shifted = ShiftedPositions(request.positions(), *flags.shift);
    if (!shifted.ok()) return AsUsage(shifted.status(), "--shift-matrix");
    *request.mutable_positions() = *shifted;
  }
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  nlohmann::ordered_json document = {{"scheme", SchemeName(request.scheme())}};
  if (flags.shift.has_value()) {
    const auto matrix = ShiftMatrixOf(request, response, *flags.shift);
    if (!matrix.ok()) return AsUsage(matrix.status(), "--shift-matrix");
    document["shift_matrix"] = ShiftMatrixJson(*matrix);
    return json ? JsonLine(document) : FormatShiftMatrix(*matrix);
  }
  const auto gram = GramOf(response, request.dim());
  if (!gram.ok()) return AsUsage(gram.status(), "--gram");
  document["gram"] = GramJson(*gram, positions);
  return json ? JsonLine(document)
              : FormatGram(*gram, positions, OutputColumns());
}

}  // namespace locus::client
