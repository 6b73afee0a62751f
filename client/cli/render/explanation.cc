#include "client/cli/render/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/render/table.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

std::string Short(double value) {
  if (std::isinf(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value + 0.0);  // no negative zero
  return text;
}

// "3", or "3 to 7". The pairs must be consecutive.
std::string Span(const std::vector<int64_t>& pairs) {
  return pairs.front() == pairs.back()
             ? absl::StrCat(pairs.front())
             : absl::StrCat(pairs.front(), " to ", pairs.back());
}

plot::Curve CurveOf(const std::string& name, int series,
                    const std::vector<double>& values) {
  plot::Curve curve{.name = name, .points = {}, .series = series};
  for (size_t n = 0; n < values.size(); ++n) {
    curve.points.push_back(
        {static_cast<double>(n), values[n], values[n], values[n]});
  }
  return curve;
}

}  // namespace

double RotationFacts::Wavelength(int64_t k) const {
  return kTurn / frequencies[k];
}

namespace {

template <typename Numbers>
std::vector<typename Numbers::value_type> ListOf(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

// Whether every list that is not empty has one element per pair. The lists come
// from a server and are not trusted.
bool IsConsistent(const RotationFacts& facts) {
  const auto fits = [&](const std::vector<double>& list) {
    return list.empty() || list.size() == facts.frequencies.size();
  };
  return fits(facts.ramp) && fits(facts.decays) && fits(facts.trained_turns) &&
         fits(facts.target_turns) &&
         facts.unscaled.size() == facts.frequencies.size() &&
         facts.trained_turns.size() == facts.target_turns.size();
}

}  // namespace

RotationFacts FactsOf(const v1::RotationEncoding& rotation) {
  RotationFacts facts;
  facts.frequencies = ListOf(rotation.target_frequencies_size() > 0
                                 ? rotation.target_frequencies()
                                 : rotation.frequencies());
  facts.unscaled = ListOf(rotation.unscaled_frequencies_size() > 0
                              ? rotation.unscaled_frequencies()
                              : rotation.frequencies());
  facts.ramp = ListOf(rotation.ramp());
  facts.decays = ListOf(rotation.decays());
  facts.attention_factor = rotation.attention_factor();
  facts.trained_length = static_cast<double>(rotation.original_length());
  facts.target_length = rotation.target_length();
  facts.trained_turns = ListOf(rotation.original_turns());
  facts.target_turns = ListOf(rotation.target_turns());
  facts.unfinished = ListOf(rotation.incomplete_pairs());
  return IsConsistent(facts) ? facts : RotationFacts();
}

RotationFacts FactsOf(const v1::AdditiveEncoding& additive,
                      double trained_length, double target_length) {
  RotationFacts facts;
  facts.rotates = false;
  facts.frequencies = ListOf(additive.frequencies());
  facts.unscaled = facts.frequencies;
  facts.trained_length = trained_length > 0 ? trained_length : target_length;
  facts.target_length = target_length > 0 ? target_length : trained_length;
  for (int64_t k = 0; k < facts.pair_count() && facts.trained_length > 0; ++k) {
    const double turns = facts.frequencies[k] / kTurn;
    facts.trained_turns.push_back(facts.trained_length * turns);
    facts.target_turns.push_back(facts.target_length * turns);
    if (facts.trained_turns.back() < 1) facts.unfinished.push_back(k);
  }
  return facts;
}

namespace {

std::vector<std::vector<std::string>> PairRows(const RotationFacts& facts) {
  const bool has_turns = !facts.trained_turns.empty();
  std::vector<std::vector<std::string>> rows = {
      {"PAIR", "FREQUENCY", "WAVELENGTH"}};
  const auto add = [&](std::string cell) {
    rows.back().push_back(std::move(cell));
  };
  if (facts.rotates) add("STRETCHED");
  if (!facts.ramp.empty()) add("RAMP");
  if (!facts.decays.empty()) add("HALVES EVERY");
  if (has_turns) {
    add(absl::StrCat("TURNS IN ", Short(facts.trained_length)));
    add(absl::StrCat("IN ", Short(facts.target_length),
                     facts.rotates ? " SCALED" : ""));
  }
  add("");
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    rows.push_back({absl::StrCat(k), Short(facts.frequencies[k]),
                    Short(facts.Wavelength(k))});
    if (facts.rotates) add(Short(facts.Stretch(k)));
    if (!facts.ramp.empty()) add(Short(facts.ramp[k]));
    if (!facts.decays.empty()) {
      add(Short(-std::numbers::ln2 / std::log(facts.decays[k])));
    }
    if (has_turns) {
      add(Short(facts.trained_turns[k]));
      add(Short(facts.target_turns[k]));
    }
    const bool unfinished = has_turns && facts.trained_turns[k] < 1;
    add(facts.IsStatic(k) ? "does not rotate"
        : unfinished      ? "no whole turn in training"
                          : "");
  }
  return rows;
}

// A sentence about the pairs that complete no turn within the trained length.
std::string TrainingLine(const RotationFacts& facts) {
  if (facts.trained_turns.empty()) {
    return "which pairs complete a turn in training depends on its length; set "
           "it with --trained\n";
  }
  int64_t static_count = 0;
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    static_count += facts.IsStatic(k);
  }
  const std::string note =
      static_count == 0
          ? ""
          : absl::StrCat("; ", static_count, " of ", facts.pair_count(),
                         " pairs do not rotate");
  if (facts.unfinished.empty()) {
    return absl::StrCat(
        static_count == facts.pair_count() ? "no pair rotates"
        : static_count > 0 ? "every pair that rotates completes a turn within "
                           : "every pair completes a turn within ",
        static_count == facts.pair_count() ? "" : Short(facts.trained_length),
        note, "\n");
  }
  return absl::StrCat(
      facts.unfinished.size(), " of ", facts.pair_count(), " pairs (",
      Span(facts.unfinished), ") never complete a turn in training; past ",
      Short(facts.trained_length),
      facts.rotates ? " they reach new angles unless they are stretched"
                    : " their columns take values that were never trained",
      note, "\n");
}

}  // namespace

std::string ExplainRotation(const RotationFacts& facts) {
  std::string text = FormatRows(PairRows(facts)) + "\n";
  if (facts.rotates) {
    absl::StrAppend(&text, "attention factor  ", Short(facts.attention_factor),
                    ", so that scores are multiplied by ",
                    Short(facts.attention_factor * facts.attention_factor),
                    "\n");
  }
  return absl::StrCat(text, TrainingLine(facts));
}

nlohmann::ordered_json RotationJson(const RotationFacts& facts) {
  nlohmann::ordered_json json;
  if (facts.rotates) json["attention_factor"] = facts.attention_factor;
  json["trained_length"] = facts.trained_length;
  json["target_length"] = facts.target_length;
  json["never_completed"] = facts.unfinished;
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    nlohmann::ordered_json pair = {{"frequency", facts.frequencies[k]}};
    if (facts.rotates) pair["unscaled_frequency"] = facts.unscaled[k];
    if (!facts.IsStatic(k)) {
      pair["wavelength"] = facts.Wavelength(k);
      if (facts.rotates) pair["stretched"] = facts.Stretch(k);
    }
    if (!facts.ramp.empty()) pair["ramp"] = facts.ramp[k];
    if (!facts.decays.empty()) pair["decay"] = facts.decays[k];
    if (!facts.trained_turns.empty()) {
      pair["trained_turns"] = facts.trained_turns[k];
      pair["target_turns"] = facts.target_turns[k];
    }
    json["pairs"].push_back(std::move(pair));
  }
  return json;
}

plot::LineChart RotationChart(const RotationFacts& facts,
                              const std::string& title) {
  std::vector<double> before;
  std::vector<double> after;
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    before.push_back(kTurn / facts.unscaled[k]);
    after.push_back(facts.Wavelength(k));
  }
  plot::LineChart chart;
  chart.title = title;
  chart.description =
      facts.rotates ? "The wavelength of each pair of channels, in positions."
                    : "The wavelength of each sine and cosine, in positions.";
  chart.x_label = "pair";
  chart.y_label = "positions for a turn";
  chart.log_y = true;
  chart.markers = false;
  chart.curves = {CurveOf(before == after ? "wavelength" : "scaled", 0, after)};
  if (before != after) chart.curves.push_back(CurveOf("unscaled", 1, before));
  if (facts.trained_length > 0) {
    chart.reference = facts.trained_length;
    chart.reference_label = "trained length";
  }
  return chart;
}

int64_t TableFacts::UntrainedRows() const {
  if (trained_length <= 0) return 0;
  return std::max<int64_t>(
      table_length - static_cast<int64_t>(std::ceil(trained_length)), 0);
}

std::string ExplainTable(const TableFacts& facts) {
  std::string text = absl::StrCat(
      facts.table_length, " rows: positions 0 to ", facts.table_length - 1,
      " have one of their own\npositions past them: ",
      PrintableLine(facts.policy), "\n");
  if (facts.trained_length <= 0) {
    absl::StrAppend(&text,
                    "which rows training reaches depends on its length; set it "
                    "with --trained\n");
  } else if (facts.UntrainedRows() > 0) {
    absl::StrAppend(&text, "the last ", facts.UntrainedRows(),
                    " rows are as they were drawn: no training sequence of ",
                    Short(facts.trained_length), " tokens reaches them\n");
  } else {
    absl::StrAppend(&text, "training reaches every row\n");
  }
  return text;
}

nlohmann::ordered_json TableJson(const TableFacts& facts) {
  nlohmann::ordered_json json = {{"table_length", facts.table_length},
                                 {"policy", facts.policy}};
  if (facts.trained_length > 0) {
    json["trained_length"] = facts.trained_length;
    json["untrained_rows"] = facts.UntrainedRows();
  }
  return json;
}

absl::StatusOr<plot::LineChart> TableChart(const v1::Tensor& table,
                                           const TableFacts& facts,
                                           const std::string& title) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> codes, ToDoubles(table));
  if (table.shape_size() != 2) {
    return absl::InternalError(absl::StrCat(
        "the table sent by the server has shape ", ShapeName(table)));
  }
  const int64_t dim = table.shape(1);
  std::vector<double> steps = {0};
  for (int64_t p = 1; p < table.shape(0); ++p) {
    double squares = 0;
    for (int64_t c = 0; c < dim; ++c) {
      const double step = codes[p * dim + c] - codes[(p - 1) * dim + c];
      squares += step * step;
    }
    steps.push_back(std::sqrt(squares));
  }
  plot::LineChart chart;
  chart.title = title;
  chart.description = absl::StrCat(
      "How far the code of each position is from the one before; "
      "the table has ",
      facts.table_length, " rows.");
  chart.x_label = "position";
  chart.y_label = "distance to the code before";
  chart.markers = false;
  chart.curves = {CurveOf("distance", 0, steps)};
  return chart;
}

namespace {

// A bias by head and distance: [H, T], nearest first.
struct BiasByDistance {
  std::vector<std::vector<double>> heads;

  int64_t length() const {
    return heads.empty() ? 0 : static_cast<int64_t>(heads[0].size());
  }
  // The distances to show: 0, 1, 4, 16, ... and the largest one.
  std::vector<int64_t> Distances() const {
    std::vector<int64_t> distances;
    for (int64_t n = 0; n < length(); n = n == 0 ? 1 : 4 * n) {
      distances.push_back(n);
    }
    if (length() > 0 && distances.back() != length() - 1) {
      distances.push_back(length() - 1);
    }
    return distances;
  }
};

absl::StatusOr<BiasByDistance> ByDistance(const v1::BiasEncoding& bias) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> values,
                          ToDoubles(bias.bias()));
  if (bias.bias().shape_size() != 3 || bias.bias().shape(1) != 1) {
    return absl::InternalError(
        absl::StrCat("the bias sent by the server has shape ",
                     ShapeName(bias.bias()), "; must be [H, 1, T]"));
  }
  const int64_t keys = bias.bias().shape(2);
  BiasByDistance by_distance;
  for (int64_t h = 0; h < bias.bias().shape(0); ++h) {
    std::vector<double> head(values.begin() + h * keys,
                             values.begin() + (h + 1) * keys);
    std::reverse(head.begin(), head.end());
    by_distance.heads.push_back(std::move(head));
  }
  return by_distance;
}

// One row per head and one column per parameter of the heads.
std::string HeadTable(const v1::BiasEncoding& bias) {
  std::vector<std::vector<std::string>> rows = {{"HEAD"}};
  for (const v1::HeadNumbers& numbers : bias.head_numbers()) {
    rows[0].push_back(numbers.name());
    for (int h = 0; h < numbers.values_size(); ++h) {
      if (h + 1 == static_cast<int>(rows.size())) {
        rows.push_back({absl::StrCat(h)});
      }
      rows[h + 1].push_back(Short(numbers.values(h)));
    }
  }
  return FormatRows(rows);
}

std::string SlopeTable(const v1::BiasEncoding& bias) {
  std::vector<std::vector<std::string>> rows = {
      {"HEAD", "SLOPE", "A WEIGHT HALVES EVERY"}};
  for (int h = 0; h < bias.slopes_size(); ++h) {
    const double slope = bias.slopes(h);
    rows.push_back(
        {absl::StrCat(h), Short(slope),
         absl::StrCat(Short(std::numbers::ln2 / slope), " positions")});
  }
  return FormatRows(rows);
}

std::string DistanceTable(const BiasByDistance& bias) {
  std::vector<std::vector<std::string>> rows = {{"BIAS AT DISTANCE"}};
  for (const int64_t n : bias.Distances()) rows[0].push_back(absl::StrCat(n));
  for (size_t h = 0; h < bias.heads.size(); ++h) {
    rows.push_back({absl::StrCat("head ", h)});
    for (const int64_t n : bias.Distances()) {
      rows.back().push_back(Short(bias.heads[h][n]));
    }
  }
  return FormatRows(rows);
}

}  // namespace

absl::StatusOr<std::string> ExplainBias(const v1::BiasEncoding& bias) {
  CLIENT_ASSIGN_OR_RETURN(const BiasByDistance by_distance, ByDistance(bias));
  std::string text;
  if (bias.slopes_size() > 0) absl::StrAppend(&text, SlopeTable(bias), "\n");
  if (bias.head_numbers_size() > 0) {
    absl::StrAppend(&text, HeadTable(bias), "\n");
  }
  if (bias.bucket_edges_size() > 0) {
    absl::StrAppend(&text, "a new bucket begins at distances ",
                    absl::StrJoin(bias.bucket_edges(), ", "), "\n\n");
  }
  return absl::StrCat(text, DistanceTable(by_distance));
}

absl::StatusOr<nlohmann::ordered_json> BiasJson(const v1::BiasEncoding& bias) {
  CLIENT_ASSIGN_OR_RETURN(const BiasByDistance by_distance, ByDistance(bias));
  nlohmann::ordered_json json = {{"slopes", bias.slopes()},
                                 {"bucket_edges", bias.bucket_edges()}};
  for (const v1::HeadNumbers& numbers : bias.head_numbers()) {
    json[numbers.name()] = numbers.values();
  }
  json["distances"] = by_distance.Distances();
  for (const std::vector<double>& head : by_distance.heads) {
    nlohmann::ordered_json at;
    for (const int64_t n : by_distance.Distances()) at.push_back(head[n]);
    json["bias"].push_back(std::move(at));
  }
  return json;
}

absl::StatusOr<plot::LineChart> BiasDistanceChart(const v1::BiasEncoding& bias,
                                                  const std::string& title) {
  constexpr int64_t kMaxHeads = 8;
  CLIENT_ASSIGN_OR_RETURN(const BiasByDistance by_distance, ByDistance(bias));
  const auto heads = static_cast<int64_t>(by_distance.heads.size());
  plot::LineChart chart;
  chart.title = title;
  chart.description = "The bias of each head by the distance of a key.";
  chart.x_label = "distance";
  chart.y_label = "bias";
  chart.markers = false;
  for (int64_t h = 0; h < std::min(heads, kMaxHeads); ++h) {
    chart.curves.push_back(CurveOf(absl::StrCat("head ", h),
                                   static_cast<int>(h), by_distance.heads[h]));
  }
  return chart;
}

}  // namespace locus::client
