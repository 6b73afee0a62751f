// The lab about permutation equivariance: attention without positions, the same
// with sinusoidal codes, an example by hand, and "dog bites man".
#include "client/cli/labs/equivariance_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/labs/lab_calls.h"
#include "client/cli/render/permutation.h"
#include "client/cli/render/table.h"
#include "client/plot/heatmap.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr double kMinPositionEffect = 1e-3;

// The last token first, then the others in order: 2, 0, 1 for three tokens.
std::vector<int64_t> RotatedOrder(size_t count) {
  std::vector<int64_t> order = {static_cast<int64_t>(count) - 1};
  for (size_t n = 0; n + 1 < count; ++n) {
    order.push_back(static_cast<int64_t>(n));
  }
  return order;
}

// A number rounded to one significant digit, such as "3000000".
std::string OneDigit(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)));
  return absl::StrFormat("%.0f", std::round(value / unit) * unit);
}

std::vector<std::string> PermutedWords(const std::vector<std::string>& words,
                                       const std::vector<int64_t>& order) {
  std::vector<std::string> permuted;
  for (const int64_t n : order) permuted.push_back(words[n]);
  return permuted;
}

// Rows of the permuted outputs, of the outputs of the permuted input, and of
// their differences, in turn.
std::string ThreeRowsPerToken(const PermutationResult& result,
                              const std::vector<std::string>& words,
                              const LabReport& report) {
  RealMatrix interleaved{.rows = 3 * result.y.rows,
                         .columns = result.y.columns};
  for (int64_t row = 0; row < result.y.rows; ++row) {
    for (const RealMatrix* matrix :
         {&result.permuted_y, &result.y_of_permuted, &result.difference}) {
      const std::vector<double> numbers = RowOf(*matrix, row);
      interleaved.values.insert(interleaved.values.end(), numbers.begin(),
                                numbers.end());
    }
  }
  const std::string order = OrderName(result.order);
  const auto label = [&](int64_t row) {
    switch (row % 3) {
      case 0:
        return absl::StrCat(words[row / 3], "  Y", order);
      case 1:
        return absl::StrCat(words[row / 3], "  Y(P X)");
      default:
        return absl::StrCat("  ",
                            report.Format(equivariance_text::kDifferenceName));
    }
  };
  // Three decimals, so that width 8 fits into 80 columns.
  return FormatMatrix(
      {.title = report.Format(equivariance_text::kSideBySide, order),
       .row_label = label,
       .decimals = 3},
      interleaved);
}

plot::Scene OutputsFigure(const PermutationResult& result,
                          const std::vector<std::string>& words,
                          const std::string& title, const LabReport& report) {
  plot::HeatmapGrid grid{.title = title,
                         .description = title,
                         .panels_per_row = 1,
                         .map = plot::ColorMap::kDiverging,
                         .value_label = "Y",
                         .row_words = words};
  for (int64_t c = 0; c < result.y.columns; ++c) {
    grid.column_words.push_back(absl::StrCat(c));
  }
  const auto add = [&](std::string name, const RealMatrix& matrix) {
    grid.panels.push_back(
        {.title = std::move(name),
         .rows = matrix.rows,
         .columns = matrix.columns,
         .values = matrix.values,
         .row_ends = {0, static_cast<double>(matrix.rows - 1)},
         .column_ends = {0, static_cast<double>(matrix.columns - 1)}});
  };
  add(absl::StrCat("Y", OrderName(result.order)), result.permuted_y);
  add("Y(P X)", result.y_of_permuted);
  add(report.Format(equivariance_text::kDifferenceName), result.difference);
  return plot::DrawHeatmaps(grid);
}

absl::StatusOr<PermutationResult> CompareOrders(
    Client& client, const LabOptions& options, const std::string& scheme,
    const std::vector<std::string>& words, int64_t dim) {
  return AttendPermuted(client, LayerRequest(scheme, words, dim, options.seed),
                        RotatedOrder(words.size()));
}

struct Sentences {
  std::vector<std::string> words;
  int64_t dim = 8;
};

absl::StatusOr<double> PartsAAndB(const LabOptions& options, Client& client,
                                  const Sentences& input, LabReport& report) {
  const std::vector<int64_t> order = RotatedOrder(input.words.size());
  const std::vector<std::string> moved = PermutedWords(input.words, order);
  CLIENT_ASSIGN_OR_RETURN(
      const PermutationResult result,
      CompareOrders(client, options, "none", input.words, input.dim));
  report.Heading(equivariance_text::kWithoutHeading);
  report.Say(equivariance_text::kSetting, absl::StrJoin(input.words, ", "),
             input.dim, options.seed, OrderName(order),
             absl::StrJoin(moved, ", "));
  report.Show(
      FormatMatrix({.title = report.Format(equivariance_text::kY),
                    .row_label = [&](int64_t n) { return input.words[n]; },
                    .decimals = 3},
                   result.y));
  report.Show(ThreeRowsPerToken(result, moved, report));
  report.Assert(IsEquivariant(result), equivariance_text::kWithoutClaim,
                TwoDigits(result.max_difference));
  report.AddFigure(
      "without_positions",
      OutputsFigure(result, moved,
                    report.Format(equivariance_text::kWithoutHeading), report),
      equivariance_text::kWithoutFigure);
  report.config()["d_model"] = input.dim;
  report.config()["n_heads"] = 1;
  report.config()["T"] = input.words.size();
  report.config()["pe_scheme_compared"] = "sinusoidal";
  report.config()["tokens"] = input.words;
  report.config()["permutation"] = order;
  report.results()["without_PE_equivariance_max_diff"] = result.max_difference;
  report.Interpret(equivariance_text::kReadWithout,
                   TwoDigits(result.max_difference));
  return result.max_difference;
}

absl::Status PartC(const LabOptions& options, Client& client,
                   const Sentences& input, double without, LabReport& report) {
  const std::vector<int64_t> order = RotatedOrder(input.words.size());
  const std::vector<std::string> moved = PermutedWords(input.words, order);
  CLIENT_ASSIGN_OR_RETURN(
      const PermutationResult result,
      CompareOrders(client, options, "sinusoidal", input.words, input.dim));
  report.Heading(equivariance_text::kWithHeading);
  report.Say(equivariance_text::kWithSay);
  report.Show(
      FormatMatrix({.title = report.Format(equivariance_text::kDifferenceMatrix,
                                           OrderName(order)),
                    .row_label = [&](int64_t n) { return moved[n]; },
                    .decimals = 3},
                   result.difference));
  report.Assert(result.max_difference > kMinPositionEffect,
                equivariance_text::kWithClaim,
                absl::StrFormat("%.3f", result.max_difference));
  report.AddFigure(
      "with_positions",
      OutputsFigure(result, moved,
                    report.Format(equivariance_text::kWithHeading), report),
      equivariance_text::kWithFigure);
  report.results()["with_PE_equivariance_max_diff"] = result.max_difference;
  report.Interpret(
      equivariance_text::kReadWith,
      absl::StrFormat("%.3f", result.max_difference),
      // A difference of zero has no ratio.
      without > 0 ? OneDigit(result.max_difference / without) : "1000000");
  return absl::OkStatus();
}

// The layer of the example by hand: identity weights, scores not scaled.
absl::StatusOr<v1::AttendRequest> HandRequest(const RealMatrix& x) {
  v1::AttendRequest request;
  request.mutable_scheme()->mutable_none();
  v1::AttentionModule& module = *request.mutable_module();
  CLIENT_ASSIGN_OR_RETURN(*module.mutable_x(),
                          MakeTensor<double>({1, x.rows, x.columns}, x.values));
  CLIENT_ASSIGN_OR_RETURN(const v1::Tensor identity,
                          MakeTensor<double>({2, 2}, {1, 0, 0, 1}));
  v1::ModuleWeights& weights = *module.mutable_weights();
  *weights.mutable_wq() = identity;
  *weights.mutable_wk() = identity;
  *weights.mutable_wv() = identity;
  *weights.mutable_wo() = identity;
  request.mutable_options()->set_scale(1);
  request.mutable_options()->set_return_weights(true);
  request.mutable_options()->set_return_log_sum_exp(true);
  return request;
}

// score = ln(weight) + log-sum-exp of the row.
absl::StatusOr<RealMatrix> ScoresOf(const v1::AttendResponse& response) {
  CLIENT_ASSIGN_OR_RETURN(RealMatrix scores, MatrixOf(response.weights()));
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> sums,
                          ToDoubles(response.log_sum_exp()));
  if (static_cast<int64_t>(sums.size()) != scores.rows) {
    return absl::InternalError("the server sent no log-sum-exp per query");
  }
  for (int64_t n = 0; n < scores.rows * scores.columns; ++n) {
    scores.values[n] = std::log(scores.values[n]) + sums[n / scores.columns];
  }
  return scores;
}

absl::Status HandPart(Client& client, LabReport& report) {
  const RealMatrix x{.rows = 3, .columns = 2, .values = {1, 0, 0, 1, 1, 1}};
  const std::vector<int64_t> swap = {2, 1, 0};
  CLIENT_ASSIGN_OR_RETURN(const v1::AttendRequest request, HandRequest(x));
  CLIENT_ASSIGN_OR_RETURN(const v1::AttendRequest swapped,
                          PermutedRequest(request, swap));
  CLIENT_ASSIGN_OR_RETURN(const v1::AttendResponse plain,
                          client.Attend(request));
  CLIENT_ASSIGN_OR_RETURN(const v1::AttendResponse other,
                          client.Attend(swapped));
  CLIENT_ASSIGN_OR_RETURN(const RealMatrix scores, ScoresOf(plain));
  CLIENT_ASSIGN_OR_RETURN(const RealMatrix weights, MatrixOf(plain.weights()));
  CLIENT_ASSIGN_OR_RETURN(
      const PermutationResult result,
      ComparePermuted(swap, plain.output(), other.output()));
  report.Heading(equivariance_text::kHandHeading);
  report.Say(equivariance_text::kHandSay);
  const auto show = [&](const Text& title, const RealMatrix& matrix,
                        const std::vector<int64_t>& tokens) {
    report.Show(FormatMatrix(
        {.title = report.Format(title),
         .row_label = [&](int64_t n) { return absl::StrCat(tokens[n] + 1); },
         .column_label = [](int64_t n) { return absl::StrCat(n + 1); }},
        matrix));
  };
  show(equivariance_text::kScores, scores, {0, 1, 2});
  show(equivariance_text::kWeights, weights, {0, 1, 2});
  show(equivariance_text::kOutputs, result.y, {0, 1, 2});
  show(equivariance_text::kSwappedOutputs, result.y_of_permuted, swap);
  report.Assert(IsEquivariant(result), equivariance_text::kHandClaim,
                TwoDigits(result.max_difference));
  report.results()["hand_example_outputs"] = result.y.values;
  report.results()["hand_example_max_diff"] = result.max_difference;
  return absl::OkStatus();
}

absl::Status DogPart(const LabOptions& options, Client& client,
                     LabReport& report) {
  const std::vector<std::string> sentence = {"dog", "bites", "man"};
  const std::vector<int64_t> reversed = {2, 1, 0};
  std::vector<std::vector<std::string>> rows = {
      {"", report.Format(equivariance_text::kDogWithout),
       report.Format(equivariance_text::kDogWith)}};
  for (const std::string& word : sentence) rows.push_back({word});
  std::vector<double> largest;
  for (const char* scheme : {"none", "sinusoidal"}) {
    CLIENT_ASSIGN_OR_RETURN(
        const PermutationResult result,
        AttendPermuted(client, LayerRequest(scheme, sentence, 8, options.seed),
                       reversed));
    largest.push_back(result.max_difference);
    for (int64_t n = 0; n < 3; ++n) {
      double change = 0;
      for (const double value : RowOf(result.difference, n)) {
        change = std::max(change, std::abs(value));
      }
      // Row n of the difference belongs to the token reversed[n].
      rows[1 + reversed[n]].push_back(
          change < 1e-3 ? TwoDigits(change) : absl::StrFormat("%.3f", change));
    }
  }
  report.Heading(equivariance_text::kDogHeading);
  report.Say(equivariance_text::kDogSay);
  report.Show(FormatRows(rows));
  report.Assert(largest[0] < kEquivarianceTolerance,
                equivariance_text::kDogClaim, TwoDigits(largest[0]));
  report.Assert(largest[1] > kMinPositionEffect,
                equivariance_text::kDogWithClaim,
                absl::StrFormat("%.3f", largest[1]));
  report.results()["dog_bites_man_without_PE_max_diff"] = largest[0];
  report.results()["dog_bites_man_with_PE_max_diff"] = largest[1];
  return absl::OkStatus();
}

absl::Status RunEquivariance(const LabOptions& options, Client& client,
                             LabReport& report) {
  Sentences input{.words = options.tokens, .dim = options.dim.value_or(8)};
  if (input.words.empty()) input.words = {"he", "work", "I"};
  report.Heading(equivariance_text::kTheoremHeading);
  report.Say(equivariance_text::kTheorem);
  report.Show(report.Format(equivariance_text::kProof));
  CLIENT_ASSIGN_OR_RETURN(const double without,
                          PartsAAndB(options, client, input, report));
  CLIENT_RETURN_IF_ERROR(PartC(options, client, input, without, report));
  CLIENT_RETURN_IF_ERROR(HandPart(client, report));
  return DogPart(options, client, report);
}

}  // namespace

Lab EquivarianceLab() {
  return {.name = "equivariance",
          .title = equivariance_text::kTitle,
          .summary = equivariance_text::kSummary,
          .questions = equivariance_text::kQuestions,
          .has_tokens = true,
          .has_dim = true,
          .run = RunEquivariance};
}

}  // namespace locus::client
