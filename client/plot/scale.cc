#include "client/plot/scale.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace locus::client::plot {
namespace {

// A minus sign is as wide as a plus; a hyphen is not.
constexpr char kMinus[] = "\xe2\x88\x92";

std::string WithMinus(std::string text) {
  if (!text.empty() && text.front() == '-') {
    return absl::StrCat(kMinus, text.substr(1));
  }
  return text;
}

std::string WithoutTrailingZeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Exponential(double value) {
  const std::string text = absl::StrFormat("%.3e", value);
  const size_t e = text.find('e');
  return absl::StrCat(WithoutTrailingZeros(text.substr(0, e)), "e",
                      std::stoi(text.substr(e + 1)));
}

}  // namespace

Scale::Scale(Interval values, Interval pixels, bool is_log)
    : values_(values), pixels_(pixels), is_log_(is_log) {
  if (values_.high > values_.low) return;
  if (is_log_) {
    values_ = {values.low / 2, values.low * 2};
  } else {
    const double room = values.low == 0 ? 1 : std::abs(values.low) / 2;
    values_ = {values.low - room, values.low + room};
  }
}

Scale Scale::Linear(Interval values, Interval pixels) {
  return Scale(values, pixels, false);
}

Scale Scale::Log(Interval values, Interval pixels) {
  return Scale(values, pixels, true);
}

double Scale::At(double value) const {
  const double share =
      is_log_
          ? std::log(value / values_.low) / std::log(values_.high / values_.low)
          : (value - values_.low) / (values_.high - values_.low);
  return pixels_.low + share * (pixels_.high - pixels_.low);
}

double Scale::Clamped(double value) const {
  return At(std::clamp(value, values_.low, values_.high));
}

std::vector<double> NiceTicks(Interval values, int count) {
  const double range = values.high - values.low;
  if (!(range > 0) || !std::isfinite(range)) return {values.low};
  const double rough = range / std::max(count, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double share = rough / power;
  const double step = power * (share < 1.5   ? 1
                               : share < 3.5 ? 2
                               : share < 7.5 ? 5
                                             : 10);
  std::vector<double> ticks;
  const double slack = 1e-9 * range;
  const double first = std::ceil((values.low - slack) / step);
  for (double i = first; i * step <= values.high + slack; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

std::vector<double> LogTicks(Interval values) {
  const double decades = std::log10(values.high / values.low);
  if (decades < 0.7) return NiceTicks(values, 5);
  const std::vector<double> factors =
      decades < 3 ? std::vector<double>{1, 2, 5} : std::vector<double>{1};
  const double stride = std::max(1.0, std::ceil(decades / 7));
  std::vector<double> ticks;
  for (double exponent = std::floor(std::log10(values.low));
       exponent <= std::log10(values.high); exponent += stride) {
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, exponent);
      if (tick >= values.low * (1 - 1e-9) && tick <= values.high * (1 + 1e-9)) {
        ticks.push_back(tick);
      }
    }
  }
  return ticks;
}

std::vector<std::string> TickLabels(const std::vector<double>& ticks) {
  double largest = 0;
  for (const double tick : ticks) largest = std::max(largest, std::abs(tick));
  std::vector<std::string> labels;
  if (largest >= 1e6 || (largest > 0 && largest < 1e-4)) {
    for (const double tick : ticks) {
      labels.push_back(tick == 0 ? "0" : WithMinus(Exponential(tick)));
    }
    return labels;
  }
  int decimals = 0;
  for (const double tick : ticks) {
    while (decimals < 8 && std::abs(tick * std::pow(10, decimals) -
                                    std::round(tick * std::pow(10, decimals))) >
                               1e-6 * std::pow(10, decimals) * largest) {
      ++decimals;
    }
  }
  for (const double tick : ticks) {
    labels.push_back(
        tick == 0 ? "0" : WithMinus(absl::StrFormat("%.*f", decimals, tick)));
  }
  return labels;
}

std::string ShortNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : absl::StrCat(kMinus, "inf");
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e6 || size < 1e-4) return WithMinus(Exponential(value));
  const int digits = static_cast<int>(std::floor(std::log10(size))) + 1;
  const int decimals = std::clamp(4 - digits, 0, 7);
  return WithMinus(
      WithoutTrailingZeros(absl::StrFormat("%.*f", decimals, value)));
}

}  // namespace locus::client::plot
