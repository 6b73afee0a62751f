// The lab about sinusoidal codes: the table, dot products and the linear shift.
#include "client/cli/labs/sinusoidal_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "client/cli/labs/lab_calls.h"
#include "client/cli/render/code_products.h"
#include "client/cli/render/encoding_charts.h"
#include "client/cli/render/table.h"
#include "client/plot/compose.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr int64_t kTablePositions = 50;
constexpr int64_t kShownChannels = 64;
constexpr int64_t kShift = 3;

// The channels of the course that the width has.
std::vector<int64_t> WaveChannels(int64_t dim) {
  std::vector<int64_t> channels;
  for (const int64_t channel : {0, 1, 10, 20, 50}) {
    if (channel < dim) channels.push_back(channel);
  }
  return channels;
}

// The response with only the first `columns` columns of its table.
absl::StatusOr<v1::EncodeResponse> FirstColumns(
    const v1::EncodeResponse& response, int64_t columns) {
  CLIENT_ASSIGN_OR_RETURN(const RealMatrix table,
                          MatrixOf(response.additive().table()));
  std::vector<double> values;
  for (int64_t row = 0; row < table.rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      values.push_back(table.At(row, column));
    }
  }
  v1::EncodeResponse first = response;
  CLIENT_ASSIGN_OR_RETURN(*first.mutable_additive()->mutable_table(),
                          MakeTensor<double>({table.rows, columns}, values));
  return first;
}

absl::Status AddTableFigures(const v1::EncodeRequest& request,
                             const v1::EncodeResponse& response,
                             LabReport& report) {
  ChartOptions options{.scheme_name = "sinusoidal",
                       .positions = request.positions(),
                       .dim = request.dim()};
  const int64_t columns = std::min(kShownChannels, request.dim());
  const std::vector<int64_t> channels = WaveChannels(request.dim());
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse shown,
                          FirstColumns(response, columns));
  options.title =
      report.Format(sinusoidal_text::kHeatmapFigure, kTablePositions, columns);
  CLIENT_ASSIGN_OR_RETURN(plot::Scene heatmap, HeatmapChart(options, shown));
  options.title = report.Format(sinusoidal_text::kSimilarityFigure);
  CLIENT_ASSIGN_OR_RETURN(plot::Scene similarity,
                          SimilarityChart(options, response));
  options.title = report.Format(sinusoidal_text::kWavesFigure,
                                absl::StrJoin(channels, ", "));
  CLIENT_ASSIGN_OR_RETURN(plot::Scene waves,
                          WaveformChart(options, response, channels));
  report.AddFigure(
      "triptych",
      plot::Compose(
          {.title = report.Format(sinusoidal_text::kFigureTitle, request.dim()),
           .description = report.Format(sinusoidal_text::kFigure),
           .panels = {std::move(heatmap), std::move(similarity),
                      std::move(waves)},
           .columns = 3}),
      sinusoidal_text::kFigure);
  return absl::OkStatus();
}

absl::Status TablePart(int64_t dim, Client& client, LabReport& report) {
  const v1::EncodeRequest request =
      CodesRequest("sinusoidal", FirstPositions(kTablePositions), dim);
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  CLIENT_ASSIGN_OR_RETURN(const GramMatrices gram, GramOf(response, dim));
  report.Heading(sinusoidal_text::kTableHeading);
  report.Say(sinusoidal_text::kFormula, dim, kTablePositions,
             std::min(kShownChannels, dim),
             absl::StrJoin(WaveChannels(dim), ", "));
  const double half = static_cast<double>(dim) / 2;
  double off = 0;
  for (int64_t p = 0; p < kTablePositions; ++p) {
    off = std::max(off, std::abs(gram.dot_products.At(p, p) - half));
  }
  report.Assert(off < 1e-9, sinusoidal_text::kNormClaim, half, TwoDigits(off));
  const double near = gram.cosines.At(0, 1);
  const double far = gram.cosines.At(0, kTablePositions - 1);
  report.Assert(near > far, sinusoidal_text::kNearClaim,
                absl::StrFormat("%.4f", near), kTablePositions - 1,
                absl::StrFormat("%.4f", far));
  report.config()["positions"] = kTablePositions;
  report.config()["d_model"] = dim;
  report.config()["channels_shown"] = std::min(kShownChannels, dim);
  report.config()["waveform_channels"] = WaveChannels(dim);
  report.results()["squared_norm_max_error"] = off;
  report.Interpret(sinusoidal_text::kReadTable);
  return AddTableFigures(request, response, report);
}

struct DotProducts {
  double neighbours = 0;        // PE(0).PE(1)
  double other_neighbours = 0;  // PE(5).PE(6)
};

absl::StatusOr<DotProducts> DotPart(Client& client, LabReport& report) {
  const std::vector<int64_t> positions = {0, 1, 5, 6};
  const v1::EncodeRequest request =
      CodesRequest("sinusoidal", PositionList(positions), 4);
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  CLIENT_ASSIGN_OR_RETURN(const RealMatrix codes,
                          MatrixOf(response.additive().table()));
  CLIENT_ASSIGN_OR_RETURN(const GramMatrices gram, GramOf(response, 4));
  const auto label = [&](int64_t n) { return absl::StrCat(positions[n]); };
  report.Heading(sinusoidal_text::kDotHeading);
  report.Show(FormatMatrix({.title = report.Format(sinusoidal_text::kCodes),
                            .row_label = label,
                            .decimals = 7},
                           codes));
  report.Show(FormatMatrix({.title = report.Format(sinusoidal_text::kProducts),
                            .row_label = label,
                            .column_label = label,
                            .decimals = 7},
                           gram.dot_products));
  const DotProducts dots{.neighbours = gram.dot_products.At(0, 1),
                         .other_neighbours = gram.dot_products.At(2, 3)};
  const double far = gram.dot_products.At(0, 2);
  const auto digits = [](double value) {
    return absl::StrFormat("%.7f", value);
  };
  report.Assert(std::abs(dots.neighbours - dots.other_neighbours) < 1e-9 &&
                    std::abs(dots.neighbours - 1.5402523) < 1e-7,
                sinusoidal_text::kEqualClaim, digits(dots.neighbours),
                digits(dots.other_neighbours));
  report.Assert(far < dots.neighbours && std::abs(far - 1.2824124) < 1e-7,
                sinusoidal_text::kFarClaim, digits(far));
  report.Say(sinusoidal_text::kWhy);
  report.results()["PE0_dot_PE1"] = dots.neighbours;
  report.results()["PE5_dot_PE6"] = dots.other_neighbours;
  report.results()["PE0_dot_PE5"] = far;
  return dots;
}

std::string ShiftRows(const ShiftMatrix& matrix, const LabReport& report) {
  std::vector<std::vector<std::string>> rows = {
      absl::StrSplit(report.Format(sinusoidal_text::kShiftColumns), '|')};
  for (size_t n = 0; n < matrix.blocks.size(); ++n) {
    const ShiftBlock& block = matrix.blocks[n];
    for (int row = 0; row < 2; ++row) {
      rows.push_back({row == 0 ? absl::StrCat(n) : "",
                      row == 0 ? absl::StrFormat("%.6g", block.frequency) : "",
                      absl::StrFormat("%9.6f  %9.6f", block.block[row][0],
                                      block.block[row][1])});
    }
  }
  return FormatRows(rows);
}

absl::StatusOr<ShiftMatrix> ShiftOf(Client& client, int64_t dim,
                                    int64_t count) {
  CLIENT_ASSIGN_OR_RETURN(const v1::Positions positions,
                          ShiftedPositions(FirstPositions(count), kShift));
  const v1::EncodeRequest request = CodesRequest("sinusoidal", positions, dim);
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  return ShiftMatrixOf(request, response, kShift);
}

absl::Status ShiftPart(int64_t dim, const DotProducts& dots, Client& client,
                       LabReport& report) {
  CLIENT_ASSIGN_OR_RETURN(const ShiftMatrix small,
                          ShiftOf(client, 4, kTablePositions));
  CLIENT_ASSIGN_OR_RETURN(const ShiftMatrix matrix,
                          ShiftOf(client, dim, kTablePositions));
  report.Heading(sinusoidal_text::kShiftHeading);
  report.Say(sinusoidal_text::kShiftSay);
  report.Show(ShiftRows(small, report));
  report.Assert(small.max_error < 1e-9 && matrix.max_error < 1e-9,
                sinusoidal_text::kShiftClaim, matrix.position_count, dim,
                TwoDigits(matrix.max_error));
  report.config()["shift"] = kShift;
  report.results()["linear_shift_max_error"] = matrix.max_error;
  report.Interpret(sinusoidal_text::kReadShift,
                   absl::StrFormat("%.7f", dots.neighbours),
                   absl::StrFormat("%.7f", dots.other_neighbours),
                   TwoDigits(matrix.max_error));
  return absl::OkStatus();
}

absl::Status RunSinusoidal(const LabOptions& options, Client& client,
                           LabReport& report) {
  const int64_t dim = options.dim.value_or(128);
  CLIENT_RETURN_IF_ERROR(TablePart(dim, client, report));
  CLIENT_ASSIGN_OR_RETURN(const DotProducts dots, DotPart(client, report));
  return ShiftPart(dim, dots, client, report);
}

}  // namespace

Lab SinusoidalLab() {
  return {.name = "sinusoidal",
          .title = sinusoidal_text::kTitle,
          .summary = sinusoidal_text::kSummary,
          .questions = sinusoidal_text::kQuestions,
          .has_dim = true,
          .run = RunSinusoidal};
}

}  // namespace locus::client
