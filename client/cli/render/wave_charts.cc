#include "client/cli/render/wave_charts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/base/status_macros.h"
#include "client/cli/render/position_codes.h"
#include "client/cli/support/cli_errors.h"
#include "client/plot/clocks.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr double kFullTurn = 2 * std::numbers::pi;
// Maximum number of strips or clocks that a chart shows.
constexpr size_t kMaxChannels = 24;

// Chooses up to `wanted` distinct channels out of `count`, including the first
// and the last. The spacing grows quadratically, because the first channels
// oscillate fastest and differ most.
std::vector<int64_t> ChooseChannels(int64_t count, int64_t wanted) {
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < std::min(count, wanted); ++i) {
    const int64_t steps = (wanted - 1) * (wanted - 1);
    chosen.push_back(
        count <= wanted ? i : std::max(i, i * i * (count - 1) / steps));
  }
  return chosen;
}

absl::Status CheckChannels(const std::vector<int64_t>& channels,
                           int64_t count) {
  for (const int64_t channel : channels) {
    if (channel < 0 || channel >= count) {
      return UsageError(absl::StrCat("--channels: ", channel,
                                     " is out of range; must be from 0 to ",
                                     count - 1));
    }
  }
  if (channels.size() > kMaxChannels) {
    return UsageError(absl::StrCat("--channels: ", channels.size(),
                                   " are too many; the maximum is ",
                                   kMaxChannels));
  }
  return absl::OkStatus();
}

plot::Curve WaveOf(const ChartOptions& options, const Codes& codes,
                   int64_t channel, std::string name, int series) {
  const std::vector<int64_t> ids = IdsOf(options.positions);
  plot::Curve curve{.name = std::move(name), .series = series};
  for (int64_t i = 0; i < codes.count; ++i) {
    const double y = codes.values[i * codes.width + channel];
    curve.points.push_back({static_cast<double>(ids[i]), y, y, y});
  }
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const auto& a, const auto& b) { return a.x < b.x; });
  return curve;
}

// One curve of every strip: the channels of a table, or the cosines or sines of
// pairs.
struct Wave {
  const ChartOptions* options;
  std::string name;
  Codes codes;
};

absl::StatusOr<std::vector<Wave>> WavesOf(
    const std::vector<ChartScheme>& schemes) {
  std::vector<Wave> waves;
  const auto add = [&waves](const ChartOptions& options, std::string name,
                            const v1::Tensor& table) -> absl::Status {
    CLIENT_ASSIGN_OR_RETURN(Codes codes, TableCodes(table));
    if (static_cast<int64_t>(IdsOf(options.positions).size()) != codes.count) {
      return absl::InternalError(
          absl::StrCat("the table sent by the server has ", codes.count,
                       " rows, one per position is expected"));
    }
    waves.push_back({&options, std::move(name), std::move(codes)});
    return absl::OkStatus();
  };
  const v1::EncodeResponse& first = schemes.front().response;
  for (const auto& [options, response] : schemes) {
    if (response.encoding_case() != first.encoding_case()) {
      return UsageError(absl::StrCat(
          "waveforms of ", schemes.front().options.scheme_name, " and ",
          options.scheme_name, " have no common axis; draw them separately"));
    }
    const std::string& title = TitleOfScheme(options);
    if (response.has_additive()) {
      CLIENT_RETURN_IF_ERROR(add(options, title, response.additive().table()));
    } else if (response.has_rotation()) {
      const bool alone = schemes.size() == 1;
      CLIENT_RETURN_IF_ERROR(
          add(options, alone ? "cosine" : title, response.rotation().cos()));
      if (!alone) continue;
      CLIENT_RETURN_IF_ERROR(add(options, "sine", response.rotation().sin()));
    } else {
      return NotApplicable(options, response, "position codes");
    }
  }
  return waves;
}

// The range of all chosen channels, so that strips are comparable.
plot::Interval RangeOfWaves(const std::vector<Wave>& waves,
                            const std::vector<int64_t>& chosen) {
  double bound = 0;
  for (const Wave& wave : waves) {
    for (int64_t i = 0; i < wave.codes.count; ++i) {
      for (const int64_t channel : chosen) {
        const double value = wave.codes.values[i * wave.codes.width + channel];
        if (plot::IsDrawable(value)) bound = std::max(bound, std::abs(value));
      }
    }
  }
  // Cosines in single precision can exceed 1 by rounding.
  if (std::abs(bound - 1) < 1e-5) bound = 1;
  return bound > 0 ? plot::Interval{-bound, bound} : plot::Interval{-1, 1};
}

// "25.1 positions for a turn", for a pair of a single rotation.
std::string WavelengthNote(const std::vector<ChartScheme>& schemes,
                           int64_t pair) {
  const v1::EncodeResponse& response = schemes.front().response;
  if (schemes.size() > 1 || !response.has_rotation()) return "";
  if (pair >= response.rotation().wavelengths_size()) return "";
  const double wavelength =
      response.rotation().wavelengths(static_cast<int>(pair));
  return std::isfinite(wavelength)
             ? absl::StrCat("wavelength ", plot::ShortNumber(wavelength))
             : "does not turn";
}

// The angles and lengths of the pairs of one scheme.
struct PairAngles {
  // Radians per position, in this call, in a call of the target length, and
  // without a scaling.
  std::vector<double> frequencies;
  std::vector<double> target;
  std::vector<double> unscaled;
  double trained_length = 0;
  double target_length = 0;
};

template <typename Numbers>
std::vector<double> ListOr(const Numbers& numbers,
                           const std::vector<double>& fallback) {
  // The lists come from a server and are not trusted.
  if (static_cast<size_t>(numbers.size()) != fallback.size()) return fallback;
  return {numbers.begin(), numbers.end()};
}

absl::StatusOr<PairAngles> AnglesOf(const ChartOptions& options,
                                    const v1::EncodeResponse& response) {
  PairAngles angles{.trained_length = options.trained_length,
                    .target_length = options.target_length};
  if (response.has_rotation()) {
    const v1::RotationEncoding& rotation = response.rotation();
    angles.frequencies = {rotation.frequencies().begin(),
                          rotation.frequencies().end()};
    angles.target = ListOr(rotation.target_frequencies(), angles.frequencies);
    angles.unscaled =
        ListOr(rotation.unscaled_frequencies(), angles.frequencies);
    angles.trained_length = static_cast<double>(rotation.original_length());
    angles.target_length = rotation.target_length();
  } else if (response.additive().frequencies_size() > 0) {
    angles.frequencies = {response.additive().frequencies().begin(),
                          response.additive().frequencies().end()};
    angles.target = angles.unscaled = angles.frequencies;
  }
  if (angles.frequencies.empty()) {
    return NotApplicable(options, response, "wavelengths");
  }
  return angles;
}

std::vector<double> WavelengthsOf(const std::vector<double>& frequencies) {
  std::vector<double> wavelengths;
  for (const double frequency : frequencies) {
    wavelengths.push_back(kFullTurn / frequency);
  }
  return wavelengths;
}

std::string LengthText(double length) {
  return absl::StrFormat("%.0f", length);
}

}  // namespace

absl::StatusOr<plot::StripChart> WaveformStrips(
    const std::vector<ChartScheme>& schemes,
    const std::vector<int64_t>& channels) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<Wave> waves, WavesOf(schemes));
  int64_t width = std::numeric_limits<int64_t>::max();
  for (const Wave& wave : waves) width = std::min(width, wave.codes.width);
  CLIENT_RETURN_IF_ERROR(CheckChannels(channels, width));
  const std::vector<int64_t> chosen =
      channels.empty() ? ChooseChannels(width, 6) : channels;
  const ChartOptions& options = schemes.front().options;
  const bool rotates = schemes.front().response.has_rotation();
  const plot::Interval range = RangeOfWaves(waves, chosen);
  plot::StripChart chart{
      .title = TitleOr(options,
                       absl::StrCat("Waveforms of ", TitleOfScheme(options))),
      .x_label = "position",
      .x_ticks = IdTicks(options.positions),
      .markers = IdsOf(options.positions).size() <= 16};
  for (const int64_t channel : chosen) {
    plot::Strip strip{
        .name = absl::StrCat(rotates ? "pair " : "channel ", channel),
        .note = WavelengthNote(schemes, channel),
        .y_range = range};
    for (size_t i = 0; i < waves.size(); ++i) {
      strip.curves.push_back(WaveOf(*waves[i].options, waves[i].codes, channel,
                                    waves[i].name, static_cast<int>(i)));
    }
    chart.strips.push_back(std::move(strip));
  }
  for (size_t i = 0; waves.size() > 1 && i < waves.size(); ++i) {
    chart.legend.push_back({waves[i].name, static_cast<int>(i)});
  }
  const std::string what =
      schemes.size() > 1 && rotates ? "The cosine of each pair." : "";
  chart.note = NoteWith(options, what);
  chart.description = absl::StrCat(chosen.size(), " channels over ",
                                   waves.front().codes.count, " positions.");
  return chart;
}

absl::StatusOr<plot::Scene> WaveformChart(
    const ChartOptions& options, const v1::EncodeResponse& response,
    const std::vector<int64_t>& channels) {
  CLIENT_ASSIGN_OR_RETURN(const plot::StripChart chart,
                          WaveformStrips({{options, response}}, channels));
  return plot::DrawStrips(chart);
}

absl::StatusOr<plot::Scene> DecayChart(
    const ChartOptions& options, const std::vector<ChartScheme>& schemes) {
  plot::LineChart chart{
      .title = TitleOr(options, schemes.size() == 1
                                    ? absl::StrCat("Similarity by distance: ",
                                                   TitleOfScheme(options))
                                    : "Similarity by distance"),
      .x_label = "distance",
      .y_label = "cosine",
      .markers = false};
  const std::vector<int64_t> ids = IdsOf(options.positions);
  for (const auto& [scheme, response] : schemes) {
    CLIENT_ASSIGN_OR_RETURN(const Codes codes, CodesOf(scheme, response));
    plot::Curve curve{.name = TitleOfScheme(scheme),
                      .series = static_cast<int>(chart.curves.size())};
    const std::vector<double> cosines = CosinesToFirst(codes);
    for (size_t i = 0; i < std::min(cosines.size(), ids.size()); ++i) {
      curve.points.push_back({static_cast<double>(ids[i] - ids.front()),
                              cosines[i], cosines[i], cosines[i]});
    }
    std::stable_sort(curve.points.begin(), curve.points.end(),
                     [](const auto& a, const auto& b) { return a.x < b.x; });
    chart.curves.push_back(std::move(curve));
  }
  chart.description = absl::StrCat(
      "The cosine between the code of position ", ids.front(),
      " and the codes at a distance; a rotation turns a vector of ones.");
  chart.note = NoteWith(options, chart.description);
  return plot::DrawLineChart(chart);
}

plot::LineChart WavelengthLines(const std::string& title,
                                const std::string& note,
                                const std::vector<WavelengthCurve>& curves,
                                double trained_length, double target_length) {
  constexpr size_t kMaxMarkers = 64;
  plot::LineChart chart{.title = title,
                        .note = note,
                        .description =
                            "The wavelength of each pair of channels, in "
                            "positions.",
                        .x_label = "pair",
                        .y_label = "positions for a turn, logarithmic",
                        .log_y = true};
  for (const WavelengthCurve& each : curves) {
    plot::Curve curve{.name = each.name,
                      .series = static_cast<int>(chart.curves.size())};
    for (size_t k = 0; k < each.wavelengths.size(); ++k) {
      const double y = each.wavelengths[k];
      curve.points.push_back({static_cast<double>(k), y, y, y});
    }
    if (curve.points.size() > kMaxMarkers) chart.markers = false;
    chart.curves.push_back(std::move(curve));
  }
  if (trained_length > 0) {
    chart.references.push_back(
        {trained_length, absl::StrCat("trained ", LengthText(trained_length))});
  }
  if (target_length > 0 && target_length != trained_length) {
    chart.references.push_back(
        {target_length, absl::StrCat("target ", LengthText(target_length))});
  }
  return chart;
}

absl::StatusOr<plot::Scene> WavelengthChart(
    const ChartOptions& options, const std::vector<ChartScheme>& schemes) {
  std::vector<WavelengthCurve> curves;
  double trained_length = 0;
  double target_length = 0;
  for (const auto& [scheme, response] : schemes) {
    CLIENT_ASSIGN_OR_RETURN(const PairAngles angles,
                            AnglesOf(scheme, response));
    curves.push_back({TitleOfScheme(scheme), WavelengthsOf(angles.target)});
    if (schemes.size() == 1 && angles.target != angles.unscaled) {
      curves.push_back({"without the scaling", WavelengthsOf(angles.unscaled)});
    }
    trained_length = std::max(trained_length, angles.trained_length);
    target_length = std::max(target_length, angles.target_length);
  }
  ChartOptions without_positions = options;
  without_positions.positions.Clear();
  return plot::DrawLineChart(WavelengthLines(
      TitleOr(options,
              schemes.size() == 1
                  ? absl::StrCat("Wavelengths of ", TitleOfScheme(options))
                  : "Wavelengths"),
      NoteWith(without_positions,
               trained_length > 0
                   ? "Pairs above a line do not complete a turn within that "
                     "length."
                   : ""),
      curves, trained_length, target_length));
}

absl::StatusOr<plot::Scene> ClockChart(const ChartOptions& options,
                                       const v1::EncodeResponse& response,
                                       const std::vector<int64_t>& pairs) {
  constexpr size_t kMaxHands = 32;
  CLIENT_ASSIGN_OR_RETURN(const PairAngles angles, AnglesOf(options, response));
  const auto count = static_cast<int64_t>(angles.frequencies.size());
  CLIENT_RETURN_IF_ERROR(CheckChannels(pairs, count));
  const bool has_lengths = angles.trained_length > 0;
  const std::string title = TitleOr(
      options, absl::StrCat("Pairs of ", TitleOfScheme(options), " as clocks"));
  plot::ClockGrid grid{.title = title, .positions = IdsOf(options.positions)};
  if (grid.positions.size() > kMaxHands) {
    return UsageError(absl::StrCat("--positions: ", grid.positions.size(),
                                   " are too many hands; the maximum is ",
                                   kMaxHands));
  }
  grid.note = NoteWith(options, "A hand for each position; the last is bold.");
  grid.description =
      "The angle of pairs of channels at each position, counterclockwise from "
      "the right.";
  if (has_lengths) {
    grid.trained_label = absl::StrCat("angles within the trained length ",
                                      LengthText(angles.trained_length));
  }
  if (has_lengths && angles.target_length > angles.trained_length) {
    grid.target_label =
        absl::StrCat("angles first reached by the target length ",
                     LengthText(angles.target_length), " (dashed)");
  }
  for (const int64_t k : pairs.empty() ? ChooseChannels(count, 8) : pairs) {
    plot::Clock clock{.title = absl::StrCat("pair ", k),
                      .radians_per_position = angles.frequencies[k]};
    clock.captions.push_back(
        angles.target[k] == 0
            ? "does not turn"
            : absl::StrCat("wavelength ",
                           plot::ShortNumber(kFullTurn / angles.target[k])));
    if (has_lengths) {
      clock.trained_radians = angles.trained_length * angles.unscaled[k];
      std::string turns = absl::StrCat(
          plot::ShortNumber(clock.trained_radians / kFullTurn), " turns");
      if (!grid.target_label.empty()) {
        clock.target_radians = angles.target_length * angles.target[k];
        turns = absl::StrCat(
            plot::ShortNumber(clock.trained_radians / kFullTurn), " \u2192 ",
            plot::ShortNumber(clock.target_radians / kFullTurn), " turns");
      }
      clock.captions.push_back(std::move(turns));
    }
    grid.clocks.push_back(std::move(clock));
  }
  return plot::DrawClocks(grid);
}

}  // namespace locus::client
