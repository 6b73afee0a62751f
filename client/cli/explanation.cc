#include "client/cli/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/table.h"
#include "client/status_macros.h"
#include "client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

std::string Short(double value) {
  if (std::isinf(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

// "3", or "3 to 7": pairs that were found are neighbours.
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

double RotationFacts::Ramp(int64_t k) const {
  const double factor = target_length / trained_length;
  if (!(factor > 1)) return 0;
  return std::clamp((1 - frequencies[k] / unscaled[k]) / (1 - 1 / factor), 0.0,
                    1.0);
}

double RotationFacts::TrainedTurns(int64_t k) const {
  return trained_length * unscaled[k] / kTurn;
}

double RotationFacts::TargetTurns(int64_t k) const {
  return target_length * frequencies[k] / kTurn;
}

std::vector<int64_t> RotationFacts::Unfinished() const {
  std::vector<int64_t> pairs;
  for (int64_t k = 0; k < pair_count() && trained_length > 0; ++k) {
    if (frequencies[k] > 0 && TrainedTurns(k) < 1) pairs.push_back(k);
  }
  return pairs;
}

RotationFacts FactsOf(const v1::RotationEncoding& rotation,
                      double trained_length, double target_length) {
  RotationFacts facts;
  facts.frequencies.assign(rotation.frequencies().begin(),
                           rotation.frequencies().end());
  facts.unscaled.assign(rotation.unscaled_frequencies().begin(),
                        rotation.unscaled_frequencies().end());
  if (facts.unscaled.size() != facts.frequencies.size()) {
    facts.unscaled = facts.frequencies;
  }
  facts.attention_factor = rotation.attention_factor();
  facts.trained_length = trained_length > 0
                             ? trained_length
                             : static_cast<double>(rotation.original_length());
  facts.target_length =
      target_length > 0 ? target_length : rotation.target_length();
  if (facts.target_length == 0) facts.target_length = facts.trained_length;
  return facts;
}

RotationFacts FactsOf(const v1::AdditiveEncoding& additive,
                      double trained_length, double target_length) {
  v1::RotationEncoding rotation;
  *rotation.mutable_frequencies() = additive.frequencies();
  RotationFacts facts = FactsOf(rotation, trained_length, target_length);
  facts.rotates = false;
  return facts;
}

std::string ExplainRotation(const RotationFacts& facts) {
  const bool has_lengths = facts.trained_length > 0;
  std::vector<std::vector<std::string>> rows = {
      {"PAIR", "FREQUENCY", "WAVELENGTH"}};
  const auto add = [&](std::string cell) {
    rows.back().push_back(std::move(cell));
  };
  if (facts.rotates) add("STRETCHED");
  if (has_lengths) {
    if (facts.rotates) add("RAMP");
    add(absl::StrCat("TURNS IN ", Short(facts.trained_length)));
    add(absl::StrCat("IN ", Short(facts.target_length),
                     facts.rotates ? " SCALED" : ""));
    add("");
  }
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    rows.push_back({absl::StrCat(k), Short(facts.frequencies[k]),
                    Short(facts.Wavelength(k))});
    if (facts.rotates) add(Short(facts.Stretch(k)));
    if (!has_lengths) continue;
    const bool stands = facts.frequencies[k] == 0;
    const bool unfinished = !stands && facts.TrainedTurns(k) < 1;
    if (facts.rotates) add(Short(facts.Ramp(k)));
    add(Short(facts.TrainedTurns(k)));
    add(Short(facts.TargetTurns(k)));
    add(stands       ? "stands still"
        : unfinished ? "no whole turn in training"
                     : "");
  }
  std::string text = FormatRows(rows) + "\n";
  if (facts.rotates) {
    absl::StrAppend(&text, "attention factor  ", Short(facts.attention_factor),
                    ", so that scores are multiplied by ",
                    Short(facts.attention_factor * facts.attention_factor),
                    "\n");
  }
  if (!has_lengths) {
    absl::StrAppend(&text,
                    "which pairs training completes depends on its length; "
                    "say it with --trained\n");
    return text;
  }
  const std::vector<int64_t> unfinished = facts.Unfinished();
  if (unfinished.empty()) {
    absl::StrAppend(&text, "every pair turns at least once within ",
                    Short(facts.trained_length), "\n");
    return text;
  }
  absl::StrAppend(
      &text, unfinished.size(), " of ", facts.pair_count(), " pairs (",
      Span(unfinished), ") never complete a turn in training; past ",
      Short(facts.trained_length),
      facts.rotates ? " they reach new angles unless they are stretched\n"
                    : " their columns take values that were never trained\n");
  return text;
}

nlohmann::ordered_json RotationJson(const RotationFacts& facts) {
  nlohmann::ordered_json json;
  if (facts.rotates) json["attention_factor"] = facts.attention_factor;
  json["trained_length"] = facts.trained_length;
  json["target_length"] = facts.target_length;
  json["never_completed"] = facts.Unfinished();
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    nlohmann::ordered_json pair = {{"frequency", facts.frequencies[k]}};
    if (facts.rotates) pair["unscaled_frequency"] = facts.unscaled[k];
    if (facts.frequencies[k] > 0) {
      pair["wavelength"] = facts.Wavelength(k);
      if (facts.rotates) pair["stretched"] = facts.Stretch(k);
    }
    if (facts.trained_length > 0) {
      if (facts.rotates) pair["ramp"] = facts.Ramp(k);
      pair["trained_turns"] = facts.TrainedTurns(k);
      pair["target_turns"] = facts.TargetTurns(k);
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
      " have one of their own\npositions past them: ", facts.policy, "\n");
  if (facts.trained_length <= 0) {
    absl::StrAppend(&text,
                    "which rows training reaches depends on its length; say it "
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
    return absl::InternalError("a table has two axes");
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

std::string ExplainBias(const v1::BiasEncoding& bias) {
  std::string text;
  if (bias.slopes_size() > 0) {
    std::vector<std::vector<std::string>> rows = {
        {"HEAD", "SLOPE", "A WEIGHT HALVES EVERY"}};
    for (int h = 0; h < bias.slopes_size(); ++h) {
      const double slope = bias.slopes(h);
      rows.push_back(
          {absl::StrCat(h), Short(slope),
           absl::StrCat(Short(std::numbers::ln2 / slope), " positions")});
    }
    absl::StrAppend(&text, FormatRows(rows));
  }
  if (bias.bucket_edges_size() > 0) {
    absl::StrAppend(&text, "a new bucket begins at distances ",
                    absl::StrJoin(bias.bucket_edges(), ", "), "\n");
  }
  if (text.empty()) {
    text = "nothing is derived from this bias; see its curve with --plot\n";
  }
  return text;
}

absl::StatusOr<plot::LineChart> BiasChart(const v1::BiasEncoding& bias,
                                          const std::string& title) {
  constexpr int64_t kMaxHeads = 8;
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> values,
                          ToDoubles(bias.bias()));
  if (bias.bias().shape_size() != 3) {
    return absl::InternalError("a bias has three axes");
  }
  const int64_t heads = bias.bias().shape(0);
  const int64_t keys = bias.bias().shape(2);
  plot::LineChart chart;
  chart.title = title;
  chart.description = "The bias of each head by the distance of a key.";
  chart.x_label = "distance";
  chart.y_label = "bias";
  chart.markers = false;
  for (int64_t h = 0; h < std::min(heads, kMaxHeads); ++h) {
    std::vector<double> by_distance(values.begin() + h * keys,
                                    values.begin() + (h + 1) * keys);
    std::reverse(by_distance.begin(), by_distance.end());
    chart.curves.push_back(
        CurveOf(absl::StrCat("head ", h), static_cast<int>(h), by_distance));
  }
  return chart;
}

}  // namespace locus::client
