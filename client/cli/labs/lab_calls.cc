#include "client/cli/labs/lab_calls.h"

#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/base/status_macros.h"
#include "client/cli/render/progress.h"
#include "client/cli/render/table.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/interrupt.h"
#include "client/cli/support/terminal.h"
#include "core/base/random.h"

namespace locus::client {

v1::Scheme SchemeOf(const std::string& text) {
  return ParseScheme(text).value_or(v1::Scheme());
}

v1::Positions FirstPositions(int64_t count) {
  v1::Positions positions;
  positions.mutable_range()->set_count(count);
  return positions;
}

v1::Positions PositionList(const std::vector<int64_t>& ids) {
  v1::Positions positions;
  for (const int64_t id : ids) positions.mutable_ids()->add_ids(id);
  return positions;
}

v1::AttendRequest LayerRequest(const std::string& scheme,
                               const std::vector<std::string>& tokens,
                               int64_t dim, uint64_t seed) {
  v1::AttendRequest request;
  *request.mutable_scheme() = SchemeOf(scheme);
  v1::AttentionModule& module = *request.mutable_module();
  module.mutable_tokens()->Add(tokens.begin(), tokens.end());
  module.set_dim(dim);
  module.set_head_count(1);
  module.set_seed(seed);
  return request;
}

v1::EncodeRequest CodesRequest(const std::string& scheme,
                               const v1::Positions& positions, int64_t dim) {
  v1::EncodeRequest request;
  *request.mutable_scheme() = SchemeOf(scheme);
  *request.mutable_positions() = positions;
  request.set_dim(dim);
  request.set_dtype(v1::DATA_TYPE_FLOAT64);
  return request;
}

std::vector<double> RandomNumbers(uint64_t seed, absl::string_view name,
                                  int64_t count) {
  std::vector<double> numbers(count);
  RandomStream(seed, absl::StrCat("lab.", name))
      .FillNormal(1, absl::MakeSpan(numbers));
  return numbers;
}

absl::StatusOr<Manifest> RunEvaluation(
    Client& client, const v1::EvaluateExtrapolationRequest& request) {
  ProgressReporter reporter({.columns = ErrorColumns(), .write = WriteProgress},
                            absl::Now());
  CancellationToken cancellation;
  const SignalScope interrupt([&cancellation] { cancellation.Cancel(); });
  std::optional<v1::EvaluationSummary> summary;
  const absl::Status status = client.EvaluateExtrapolation(
      request,
      [&](const v1::EvaluateExtrapolationResponse& event) {
        reporter.On(event, absl::Now());
        if (event.has_summary()) summary = event.summary();
        return true;
      },
      {.cancellation = &cancellation});
  reporter.Finish();
  CLIENT_RETURN_IF_ERROR(status);
  if (!summary.has_value()) {
    return absl::InternalError("the server sent no summary");
  }
  CLIENT_ASSIGN_OR_RETURN(Manifest manifest,
                          ParseManifest(summary->manifest_json()));
  if (manifest.summary.partial()) {
    return absl::DeadlineExceededError(
        "the evaluation did not finish; give a longer --timeout");
  }
  return manifest;
}

std::string EvaluationRows(const Manifest& manifest,
                           const std::string& metric) {
  std::vector<std::vector<std::string>> rows = {{""}};
  const std::vector<int64_t> lengths = LengthsOf(manifest);
  for (const int64_t length : lengths) {
    rows.front().push_back(absl::StrCat(length));
  }
  for (const std::string& scheme : SchemesOf(manifest)) {
    std::vector<std::string> row = {scheme};
    for (const int64_t length : lengths) {
      const v1::EvaluationRow* cell = FindRow(manifest, scheme, length, metric);
      if (cell == nullptr) {
        row.push_back("-");
      } else if (cell->count() < 2) {
        row.push_back(absl::StrFormat("%.3f", cell->mean()));
      } else {
        row.push_back(absl::StrFormat("%.3f ±%.2g", cell->mean(),
                                      (cell->ci_high() - cell->ci_low()) / 2));
      }
    }
    rows.push_back(std::move(row));
  }
  return FormatRows(rows);
}

nlohmann::ordered_json RowsByScheme(const Manifest& manifest,
                                    const std::string& metric) {
  nlohmann::ordered_json schemes = nlohmann::ordered_json::object();
  for (const v1::EvaluationRow& row : manifest.summary.rows()) {
    if (row.metric() != metric) continue;
    schemes[row.scheme_name()][absl::StrCat(row.eval_length())] = {
        {"mean", row.mean()},
        {"ci_low", row.ci_low()},
        {"ci_high", row.ci_high()}};
  }
  return schemes;
}

double DotOf(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> RowOf(const RealMatrix& matrix, int64_t row) {
  const auto begin = matrix.values.begin() + row * matrix.columns;
  return {begin, begin + matrix.columns};
}

}  // namespace locus::client
