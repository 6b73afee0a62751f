// Calls of the service that several labs make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/labs/lab.h"
#include "client/cli/render/matrix.h"
#include "client/report/manifest.h"
#include "locus/client/client.h"

namespace locus::client {

// A scheme in the text format of the command line. The text must be valid.
v1::Scheme SchemeOf(const std::string& text);

// The positions 0, 1, ..., count - 1.
v1::Positions FirstPositions(int64_t count);
// Positions one by one.
v1::Positions PositionList(const std::vector<int64_t>& ids);

// One attention layer with seeded weights over words.
v1::AttendRequest LayerRequest(const std::string& scheme,
                               const std::vector<std::string>& tokens,
                               int64_t dim, uint64_t seed);

// A request for the codes of a scheme, in FLOAT64.
v1::EncodeRequest CodesRequest(const std::string& scheme,
                               const v1::Positions& positions, int64_t dim);

// A vector of normal random numbers that depends on the seed and its name.
std::vector<double> RandomNumbers(uint64_t seed, absl::string_view name,
                                  int64_t count);

// Runs an evaluation, with progress on standard error, and returns its
// manifest.
absl::StatusOr<Manifest> RunEvaluation(
    Client& client, const v1::EvaluateExtrapolationRequest& request);

// The mean of each scheme at each length with the half width of its interval,
// as a table.
std::string EvaluationRows(const Manifest& manifest, const std::string& metric);

// {scheme: {length: {"mean": ..., "ci_low": ..., "ci_high": ...}}} for one
// metric.
nlohmann::ordered_json RowsByScheme(const Manifest& manifest,
                                    const std::string& metric);

// Dot product of two vectors of the same size.
double DotOf(const std::vector<double>& a, const std::vector<double>& b);
// Row `row` of a matrix.
std::vector<double> RowOf(const RealMatrix& matrix, int64_t row);

}  // namespace locus::client
