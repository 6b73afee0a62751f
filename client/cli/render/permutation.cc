#include "client/cli/render/permutation.h"

#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

// Permutes the rows of x: [..., T, d_model] or [T, d_model].
absl::Status PermuteRowsOf(const std::vector<int64_t>& order, v1::Tensor* x) {
  CLIENT_RETURN_IF_ERROR(CheckTensor(*x));
  const int axes = x->shape_size();
  const auto count = static_cast<int64_t>(order.size());
  if (axes < 2 || x->shape(axes - 2) != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", count, " numbers; x has the shape ", ShapeName(*x),
                     ", and its tokens are the last axis but one"));
  }
  const std::string& data = x->data();
  const int64_t row_bytes = x->shape(axes - 1) * ElementSize(x->dtype());
  std::string permuted;
  permuted.reserve(data.size());
  const int64_t sequence_bytes = count * row_bytes;
  for (int64_t begin = 0; begin < static_cast<int64_t>(data.size());
       begin += sequence_bytes) {
    for (const int64_t row : order) {
      permuted.append(data, begin + row * row_bytes, row_bytes);
    }
  }
  x->set_data(std::move(permuted));
  return absl::OkStatus();
}

nlohmann::ordered_json RowsJson(const RealMatrix& matrix) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int64_t row = 0; row < matrix.rows; ++row) {
    rows.push_back(std::vector<double>(
        matrix.values.begin() + row * matrix.columns,
        matrix.values.begin() + (row + 1) * matrix.columns));
  }
  return rows;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ParsePermutation(const std::string& text) {
  std::vector<int64_t> order;
  std::set<int64_t> seen;
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  for (const std::string& part : parts) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < 0 ||
        number >= static_cast<int64_t>(parts.size()) ||
        !seen.insert(number).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "is ", text, "; give every number from 0 to ", parts.size() - 1,
          " once, such as 2,0,1 for three tokens"));
    }
    order.push_back(number);
  }
  return order;
}

absl::StatusOr<v1::AttendRequest> PermutedRequest(
    const v1::AttendRequest& request, const std::vector<int64_t>& order) {
  if (!request.has_module()) {
    return absl::InvalidArgumentError("needs --tokens or --x");
  }
  v1::AttendRequest permuted = request;
  v1::AttentionModule& module = *permuted.mutable_module();
  if (module.has_x()) {
    CLIENT_RETURN_IF_ERROR(PermuteRowsOf(order, module.mutable_x()));
    return permuted;
  }
  if (module.tokens_size() != static_cast<int>(order.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", order.size(), " numbers for ",
                     module.tokens_size(), " tokens"));
  }
  for (size_t n = 0; n < order.size(); ++n) {
    module.set_tokens(static_cast<int>(n),
                      request.module().tokens(static_cast<int>(order[n])));
  }
  return permuted;
}

absl::StatusOr<PermutationResult> ComparePermuted(
    const std::vector<int64_t>& order, const v1::Tensor& output,
    const v1::Tensor& output_of_permuted) {
  PermutationResult result{.order = order};
  CLIENT_ASSIGN_OR_RETURN(result.y, MatrixOf(output));
  CLIENT_ASSIGN_OR_RETURN(result.y_of_permuted, MatrixOf(output_of_permuted));
  if (result.y.rows != static_cast<int64_t>(order.size()) ||
      result.y_of_permuted.rows != result.y.rows ||
      result.y_of_permuted.columns != result.y.columns) {
    return absl::InternalError(absl::StrCat(
        "the server sent outputs of shape ", ShapeName(output), " and ",
        ShapeName(output_of_permuted), " for ", order.size(), " tokens"));
  }
  result.permuted_y = PermutedRows(result.y, order);
  result.difference = Difference(result.y_of_permuted, result.permuted_y);
  result.max_difference = MaxAbs(result.difference);
  return result;
}

absl::StatusOr<PermutationResult> AttendPermuted(
    Client& client, const v1::AttendRequest& request,
    const std::vector<int64_t>& order) {
  CLIENT_ASSIGN_OR_RETURN(const v1::AttendRequest permuted,
                          PermutedRequest(request, order));
  CLIENT_ASSIGN_OR_RETURN(const v1::AttendResponse plain,
                          client.Attend(request));
  CLIENT_ASSIGN_OR_RETURN(const v1::AttendResponse other,
                          client.Attend(permuted));
  return ComparePermuted(order, plain.output(), other.output());
}

std::string OrderName(const std::vector<int64_t>& order) {
  return absl::StrCat("[", absl::StrJoin(order, ", "), "]");
}

std::string FormatPermutation(const PermutationResult& result,
                              const std::vector<std::string>& words,
                              int width) {
  const auto word = [&words](int64_t n) {
    return n < static_cast<int64_t>(words.size()) ? words[n] : absl::StrCat(n);
  };
  const auto permuted_word = [&](int64_t n) { return word(result.order[n]); };
  const std::string order = OrderName(result.order);
  const auto format = [&](std::string title, auto label,
                          const RealMatrix& matrix) {
    return FormatMatrix(
        {.title = std::move(title), .row_label = label, .width = width},
        matrix);
  };
  return absl::StrCat(
      format("Y: output of the tokens", word, result.y), "\n",
      format(absl::StrCat("Y", order, ": the same rows, permuted"),
             permuted_word, result.permuted_y),
      "\n",
      format("Y of the permuted input", permuted_word, result.y_of_permuted),
      "\n", format("difference of the two", permuted_word, result.difference),
      "\nlargest difference  ", TwoDigits(result.max_difference), "\n",
      IsEquivariant(result)
          ? "The layer is equivariant: permuting the tokens only permutes the "
            "outputs.\n"
          : "The layer is not equivariant: the outputs depend on the order of "
            "the tokens.\n");
}

nlohmann::ordered_json PermutationJson(const PermutationResult& result) {
  return {{"order", result.order},
          {"y", RowsJson(result.y)},
          {"permuted_y", RowsJson(result.permuted_y)},
          {"y_of_permuted", RowsJson(result.y_of_permuted)},
          {"difference", RowsJson(result.difference)},
          {"max_difference", result.max_difference},
          {"equivariant", IsEquivariant(result)}};
}

}  // namespace locus::client
