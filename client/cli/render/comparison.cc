#include "client/cli/render/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/render/wave_charts.h"
#include "nlohmann/json.hpp"

namespace locus::client {

AttentionDifference CompareAttention(const AttentionWeights& first,
                                     const AttentionWeights& other) {
  AttentionDifference difference;
  double sum = 0;
  for (int64_t head = 0; head < first.head_count; ++head) {
    for (int64_t query = 0; query < first.length; ++query) {
      for (int64_t key = 0; key < first.length; ++key) {
        const double a = first.At(head, query, key);
        const double b = other.At(head, query, key);
        sum += std::abs(b - a);
        if (std::abs(b - a) <= difference.largest) continue;
        difference.largest = std::abs(b - a);
        difference.head = head;
        difference.query = query;
        difference.key = key;
        difference.first = a;
        difference.other = b;
      }
    }
  }
  const auto count = static_cast<double>(first.values.size());
  difference.mean = count > 0 ? sum / count : 0;
  return difference;
}

std::vector<double> WeightByDistance(const AttentionWeights& weights,
                                     bool causal) {
  std::vector<double> sums(weights.length);
  std::vector<double> counts(weights.length);
  for (int64_t head = 0; head < weights.head_count; ++head) {
    for (int64_t query = 0; query < weights.length; ++query) {
      const int64_t end = causal ? query + 1 : weights.length;
      for (int64_t key = 0; key < end; ++key) {
        const int64_t distance = std::abs(query - key);
        sums[distance] += weights.At(head, query, key);
        counts[distance] += 1;
      }
    }
  }
  for (size_t n = 0; n < sums.size(); ++n) {
    sums[n] /= std::max(counts[n], 1.0);
  }
  return sums;
}

std::vector<double> WavelengthRatios(const RotationFacts& first,
                                     const RotationFacts& other) {
  std::vector<double> ratios;
  if (first.pair_count() != other.pair_count()) return ratios;
  for (int64_t k = 0; k < first.pair_count(); ++k) {
    ratios.push_back(first.IsStatic(k) || other.IsStatic(k)
                         ? std::numeric_limits<double>::quiet_NaN()
                         : other.Wavelength(k) / first.Wavelength(k));
  }
  return ratios;
}

std::vector<int64_t> SpacedIndices(int64_t count, int64_t limit) {
  const int64_t shown = std::min(count, limit);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < shown; ++i) {
    indices.push_back(shown == 1 ? 0 : i * (count - 1) / (shown - 1));
  }
  return indices;
}

namespace {

nlohmann::ordered_json SchemeJson(const ComparedScheme& scheme) {
  nlohmann::ordered_json json = {
      {"name", scheme.name}, {"kind", scheme.kind}, {"scheme", scheme.text}};
  if (scheme.dim > 0) json["dim"] = scheme.dim;
  if (scheme.pairs) {
    json["rotation"] = RotationJson(*scheme.pairs, scheme.angles);
  }
  if (scheme.table) json["table"] = TableJson(*scheme.table);
  if (scheme.bias) {
    nlohmann::ordered_json bias = {{"distances", scheme.bias->Distances()}};
    for (const std::vector<double>& head : scheme.bias->heads) {
      nlohmann::ordered_json at;
      for (const int64_t n : scheme.bias->Distances()) at.push_back(head[n]);
      bias["heads"].push_back(std::move(at));
    }
    json["bias"] = std::move(bias);
  }
  return json;
}

nlohmann::ordered_json DifferenceJson(const Comparison& comparison,
                                      const ComparedScheme& scheme) {
  const AttentionDifference difference = CompareAttention(
      *comparison.schemes.front().attention, *scheme.attention);
  return {{"name", scheme.name},       {"largest", difference.largest},
          {"mean", difference.mean},   {"head", difference.head},
          {"query", difference.query}, {"key", difference.key},
          {"first", difference.first}, {"value", difference.other}};
}

}  // namespace

nlohmann::ordered_json ComparisonJson(const Comparison& comparison) {
  nlohmann::ordered_json json;
  const ComparedScheme& first = comparison.schemes.front();
  if (comparison.target_length > 0) {
    json["target_length"] = comparison.target_length;
  }
  for (const ComparedScheme& scheme : comparison.schemes) {
    json["schemes"].push_back(SchemeJson(scheme));
    if (!first.pairs || !scheme.pairs) continue;
    nlohmann::ordered_json ratios = nlohmann::ordered_json::array();
    for (const double ratio : WavelengthRatios(*first.pairs, *scheme.pairs)) {
      ratios.push_back(std::isnan(ratio) ? nlohmann::ordered_json(nullptr)
                                         : nlohmann::ordered_json(ratio));
    }
    json["schemes"].back()["wavelength_ratios"] = std::move(ratios);
  }
  nlohmann::ordered_json attention = {{"tokens", comparison.words}};
  if (!comparison.attention_note.empty()) {
    attention["note"] = comparison.attention_note;
  } else {
    attention["head_count"] = first.attention->head_count;
    attention["causal"] = comparison.causal;
    attention["seed"] = comparison.seed;
    for (size_t i = 1; i < comparison.schemes.size(); ++i) {
      attention["differences"].push_back(
          DifferenceJson(comparison, comparison.schemes[i]));
    }
  }
  json["attention"] = std::move(attention);
  return json;
}

namespace {

plot::Curve SeriesOf(const ComparedScheme& scheme, size_t series,
                     const std::vector<double>& values) {
  plot::Curve curve{
      .name = scheme.name, .points = {}, .series = static_cast<int>(series)};
  for (size_t n = 0; n < values.size(); ++n) {
    curve.points.push_back(
        {static_cast<double>(n), values[n], values[n], values[n]});
  }
  return curve;
}

std::vector<double> Wavelengths(const RotationFacts& facts) {
  std::vector<double> wavelengths;
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    wavelengths.push_back(facts.Wavelength(k));
  }
  return wavelengths;
}

std::vector<double> MeanBias(const BiasByDistance& bias) {
  std::vector<double> mean(bias.length());
  for (const std::vector<double>& head : bias.heads) {
    for (size_t n = 0; n < mean.size(); ++n) {
      mean[n] += head[n] / static_cast<double>(bias.heads.size());
    }
  }
  return mean;
}

template <typename Has>
bool All(const Comparison& comparison, const Has& has) {
  return std::all_of(comparison.schemes.begin(), comparison.schemes.end(), has);
}

template <typename ValuesOf>
void AddCurves(const Comparison& comparison, const ValuesOf& values_of,
               plot::LineChart& chart) {
  for (size_t i = 0; i < comparison.schemes.size(); ++i) {
    const ComparedScheme& scheme = comparison.schemes[i];
    chart.curves.push_back(SeriesOf(scheme, i, values_of(scheme)));
  }
}

plot::LineChart WavelengthsChart(const Comparison& comparison) {
  std::vector<WavelengthCurve> curves;
  double trained_length = comparison.schemes.front().pairs->trained_length;
  for (const ComparedScheme& scheme : comparison.schemes) {
    curves.push_back({scheme.name, Wavelengths(*scheme.pairs)});
    // Schemes that were trained at different lengths have no common line.
    if (scheme.pairs->trained_length != trained_length) trained_length = 0;
  }
  return WavelengthLines("Wavelength of each pair",
                         absl::StrCat("dim ", comparison.schemes.front().dim),
                         curves, trained_length, comparison.target_length);
}

void DrawBiases(const Comparison& comparison, plot::LineChart& chart) {
  chart.title = "Bias by distance, mean over heads";
  chart.description = "The bias that is added to the score of a key.";
  chart.x_label = "distance";
  chart.y_label = "bias";
  chart.markers = false;
  AddCurves(
      comparison,
      [](const ComparedScheme& scheme) { return MeanBias(*scheme.bias); },
      chart);
}

void DrawAttention(const Comparison& comparison, plot::LineChart& chart) {
  chart.title = "Attention weight by distance";
  chart.note = absl::StrJoin(comparison.words, " ");
  chart.description =
      "The mean attention weight of keys at each distance from the query, in "
      "an untrained layer.";
  chart.x_label = "distance";
  chart.y_label = "mean weight";
  for (const int64_t n :
       SpacedIndices(static_cast<int64_t>(comparison.words.size()), 9)) {
    chart.x_ticks.push_back(static_cast<double>(n));
  }
  AddCurves(
      comparison,
      [&](const ComparedScheme& scheme) {
        return WeightByDistance(*scheme.attention, comparison.causal);
      },
      chart);
}

}  // namespace

absl::StatusOr<plot::LineChart> ComparisonChart(const Comparison& comparison) {
  plot::LineChart chart;
  if (All(comparison, [](const auto& s) { return s.pairs.has_value(); })) {
    chart = WavelengthsChart(comparison);
  } else if (All(comparison,
                 [](const auto& s) { return s.bias.has_value(); })) {
    DrawBiases(comparison, chart);
  } else if (comparison.attention_note.empty()) {
    DrawAttention(comparison, chart);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("schemes of different kinds are drawn by their attention, "
                     "which is not compared: ",
                     comparison.attention_note));
  }
  return chart;
}

}  // namespace locus::client
