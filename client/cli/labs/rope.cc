// The lab about rotary positions: relative property, norms, composition.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "client/cli/labs/lab_calls.h"
#include "client/cli/labs/rope_text.h"
#include "client/cli/render/encoding_charts.h"
#include "client/cli/render/table.h"
#include "client/plot/clocks.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr int64_t kRopePositions = 32;
constexpr std::pair<int64_t, int64_t> kRopePairs[] = {
    {0, 1}, {3, 7}, {5, 5}, {10, 12}, {20, 8}};
// The second rotation of the composition R(a) R(b).
constexpr int64_t kSecondRotation = 5;
// Number of hands of a clock.
constexpr int64_t kClockPositions = 6;

// Applies RoPE to the rows of x, one position each.
absl::StatusOr<RealMatrix> Rotate(Client& client, const RealMatrix& x,
                                  const v1::Positions& positions) {
  v1::EncodeRequest request = CodesRequest("rope", positions, x.columns);
  CLIENT_ASSIGN_OR_RETURN(*request.mutable_input(),
                          MakeTensor<double>({x.rows, x.columns}, x.values));
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  return MatrixOf(response.output());
}

// `count` rows, all equal to `row`.
RealMatrix Repeated(const std::vector<double>& row, int64_t count) {
  RealMatrix matrix{.rows = count, .columns = static_cast<int64_t>(row.size())};
  for (int64_t n = 0; n < count; ++n) {
    matrix.values.insert(matrix.values.end(), row.begin(), row.end());
  }
  return matrix;
}

// One vector rotated to every position.
struct RotatedVectors {
  std::vector<double> q;
  std::vector<double> k;
  RealMatrix queries;  // [positions, d]
  RealMatrix keys;     // [positions, d]

  double Score(int64_t m, int64_t n) const {
    return DotOf(RowOf(queries, m), RowOf(keys, n));
  }
};

absl::StatusOr<RotatedVectors> RotateVectors(const LabOptions& options,
                                             int64_t dim, Client& client) {
  RotatedVectors vectors{.q = RandomNumbers(options.seed, "rope.q", dim),
                         .k = RandomNumbers(options.seed, "rope.k", dim)};
  const v1::Positions positions = FirstPositions(kRopePositions);
  CLIENT_ASSIGN_OR_RETURN(
      vectors.queries,
      Rotate(client, Repeated(vectors.q, kRopePositions), positions));
  CLIENT_ASSIGN_OR_RETURN(
      vectors.keys,
      Rotate(client, Repeated(vectors.k, kRopePositions), positions));
  return vectors;
}

double RelativePart(const LabOptions& options, const RotatedVectors& vectors,
                    LabReport& report) {
  report.Heading(rope_text::kRelativeHeading);
  report.Say(rope_text::kRelativeSay, vectors.q.size(), kRopePositions,
             options.seed);
  std::vector<std::vector<std::string>> rows = {
      absl::StrSplit(report.Format(rope_text::kColumns), '|')};
  double largest = 0;
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  for (const auto& [m, n] : kRopePairs) {
    const int64_t nearest = std::min(m, n);
    const double score = vectors.Score(m, n);
    const double expected = vectors.Score(m - nearest, n - nearest);
    const double difference = std::abs(score - expected);
    largest = std::max(largest, difference);
    rows.push_back(
        {absl::StrCat("(", m, ", ", n, ")"), absl::StrFormat("%.7f", score),
         absl::StrFormat("%.7f  (%d, %d)", expected, m - nearest, n - nearest),
         TwoDigits(difference)});
    scores.push_back({{"m", m}, {"n", n}, {"score", score}});
  }
  report.Show(FormatRows(rows));
  report.Assert(largest < 1e-5, rope_text::kRelativeClaim, TwoDigits(largest));
  report.results()["relative_max_diff"] = largest;
  report.results()["scores"] = scores;
  return largest;
}

absl::StatusOr<double> NormPart(const RotatedVectors& vectors, Client& client,
                                LabReport& report) {
  const double norm = std::sqrt(DotOf(vectors.q, vectors.q));
  double norm_change = 0;
  for (int64_t p = 0; p < kRopePositions; ++p) {
    const std::vector<double> row = RowOf(vectors.queries, p);
    norm_change =
        std::max(norm_change, std::abs(std::sqrt(DotOf(row, row)) - norm));
  }
  // Rotates R(a) q, for all a, to position b once more.
  const int64_t count = kRopePositions - kSecondRotation;
  RealMatrix first{.rows = count, .columns = vectors.queries.columns};
  first.values.assign(vectors.queries.values.begin(),
                      vectors.queries.values.begin() + count * first.columns);
  CLIENT_ASSIGN_OR_RETURN(
      const RealMatrix twice,
      Rotate(client, first,
             PositionList(std::vector<int64_t>(count, kSecondRotation))));
  double composed = 0;
  for (int64_t a = 0; a < count; ++a) {
    for (int64_t c = 0; c < twice.columns; ++c) {
      composed = std::max(composed,
                          std::abs(twice.At(a, c) -
                                   vectors.queries.At(a + kSecondRotation, c)));
    }
  }
  double at_zero = 0;
  for (int64_t c = 0; c < first.columns; ++c) {
    at_zero =
        std::max(at_zero, std::abs(vectors.queries.At(0, c) - vectors.q[c]));
  }
  report.Heading(rope_text::kNormHeading);
  report.Assert(norm_change < 1e-9, rope_text::kNormClaim,
                absl::StrFormat("%.7f", norm), TwoDigits(norm_change));
  report.Assert(composed < 1e-9, rope_text::kComposeClaim, kSecondRotation,
                TwoDigits(composed));
  report.Assert(at_zero == 0, rope_text::kNoCodeClaim, TwoDigits(at_zero));
  report.results()["norm_max_change"] = norm_change;
  report.results()["composition_max_diff"] = composed;
  return norm_change;
}

// Pairs from the fastest to the slowest, as clocks with a hand per position.
plot::Scene ClocksFigure(const std::vector<double>& frequencies,
                         const LabReport& report) {
  plot::ClockGrid grid{.title = report.Format(rope_text::kFigureTitle),
                       .note = report.Format(rope_text::kFigure),
                       .description = report.Format(rope_text::kFigure)};
  for (size_t pair = 0; pair < frequencies.size() && pair < 4; ++pair) {
    grid.clocks.push_back({.title = report.Format(rope_text::kClock, pair),
                           .captions = {report.Format(
                               rope_text::kClockCaption,
                               absl::StrFormat("%.3g", frequencies[pair]))},
                           .radians_per_position = frequencies[pair]});
  }
  for (int64_t p = 0; p < kClockPositions; ++p) grid.positions.push_back(p);
  return plot::DrawClocks(grid);
}

absl::Status AddRopeFigures(int64_t dim, Client& client, LabReport& report) {
  const v1::EncodeRequest request =
      CodesRequest("rope", FirstPositions(kRopePositions), dim);
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  const auto& frequencies = response.rotation().frequencies();
  report.AddFigure(
      "clocks", ClocksFigure({frequencies.begin(), frequencies.end()}, report),
      rope_text::kFigure);
  CLIENT_ASSIGN_OR_RETURN(
      plot::Scene similarity,
      SimilarityChart({.title = report.Format(rope_text::kDecayFigure),
                       .scheme_name = "rope",
                       .positions = request.positions(),
                       .dim = dim},
                      response));
  report.AddFigure("similarity", std::move(similarity),
                   rope_text::kDecayFigure);
  return absl::OkStatus();
}

absl::Status RunRope(const LabOptions& options, Client& client,
                     LabReport& report) {
  const int64_t dim = options.dim.value_or(16);
  CLIENT_ASSIGN_OR_RETURN(const RotatedVectors vectors,
                          RotateVectors(options, dim, client));
  report.config()["d_head"] = dim;
  report.config()["T"] = kRopePositions;
  report.config()["base"] = 10000;
  const double difference = RelativePart(options, vectors, report);
  CLIENT_ASSIGN_OR_RETURN(const double norm_change,
                          NormPart(vectors, client, report));
  report.Interpret(rope_text::kRead, TwoDigits(difference),
                   TwoDigits(norm_change));
  return AddRopeFigures(dim, client, report);
}

}  // namespace

Lab RopeLab() {
  return {.name = "rope",
          .title = rope_text::kTitle,
          .summary = rope_text::kSummary,
          .questions = rope_text::kQuestions,
          .has_dim = true,
          .run = RunRope};
}

}  // namespace locus::client
