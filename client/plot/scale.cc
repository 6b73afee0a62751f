#include "client/plot/scale.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace locus::client::plot {
namespace {

// U+2212 MINUS SIGN, which has the width of a plus sign.
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

// Formats a finite number with an exponent.
std::string Exponential(double value) {
  const std::string text = absl::StrFormat("%.3e", value);
  const size_t e = text.find('e');
  return absl::StrCat(WithoutTrailingZeros(text.substr(0, e)), "e",
                      std::stoi(text.substr(e + 1)));
}

constexpr double kMaxDrawable = 1e300;
constexpr double kMinDrawable = 1 / kMaxDrawable;

}  // namespace

bool IsDrawable(double value) { return std::abs(value) <= kMaxDrawable; }

bool IsFlat(Interval values) {
  if (!IsDrawable(values.low) || !IsDrawable(values.high)) return true;
  const double size = std::max(std::abs(values.low), std::abs(values.high));
  return values.high - values.low <= std::max(1e-12 * size, kMinDrawable);
}

Scale::Scale(Interval values, Interval pixels, bool is_log)
    : values_(values), pixels_(pixels), is_log_(is_log) {
  if (!IsFlat(values)) return;
  const double middle = IsDrawable(values.low) ? values.low : 0;
  const double size = std::abs(middle);
  if (is_log_) {
    values_ = middle > 0 ? Interval{middle / 2, middle * 2} : Interval{1, 2};
  } else {
    const double room = size > kMinDrawable ? size / 2 : 1;
    values_ = {middle - room, middle + room};
  }
}

Scale Scale::Linear(Interval values, Interval pixels) {
  return Scale(values, pixels, false);
}

Scale Scale::Log(Interval values, Interval pixels) {
  return Scale(values, pixels, true);
}

double Scale::At(double value) const {
  // Differences of logarithms instead of quotients, which may overflow.
  const auto to = [this](double x) { return is_log_ ? std::log(x) : x; };
  const double share =
      (to(value) - to(values_.low)) / (to(values_.high) - to(values_.low));
  return pixels_.low + share * (pixels_.high - pixels_.low);
}

double Scale::Clamped(double value) const {
  return At(std::clamp(value, values_.low, values_.high));
}

std::vector<double> NiceTicks(Interval values, int count) {
  if (IsFlat(values)) return {values.low};
  count = std::max(count, 1);
  const double range = values.high - values.low;
  const double rough = range / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double share = rough / power;
  const double step = power * (share < 1.5   ? 1
                               : share < 3.5 ? 2
                               : share < 7.5 ? 5
                                             : 10);
  std::vector<double> ticks;
  const double slack = 1e-9 * range;
  const double first = std::ceil((values.low - slack) / step);
  for (int i = 0; i < 2 * count + 2; ++i) {
    const double tick = (first + i) * step;
    if (tick > values.high + slack) break;
    ticks.push_back(tick);
  }
  return ticks;
}

std::vector<double> LogTicks(Interval values) {
  if (IsFlat(values) || !(values.low > 0)) return {values.low};
  const double decades = std::log10(values.high) - std::log10(values.low);
  if (decades < 0.7) return NiceTicks(values, 5);
  const std::vector<double> factors =
      decades < 3 ? std::vector<double>{1, 2, 5} : std::vector<double>{1};
  const double stride = std::max(1.0, std::ceil(decades / 7));
  std::vector<double> ticks;
  const double first = std::floor(std::log10(values.low));
  for (int i = 0; first + i * stride <= std::log10(values.high); ++i) {
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, first + i * stride);
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
  if (!std::all_of(ticks.begin(), ticks.end(), IsDrawable)) {
    for (const double tick : ticks) labels.push_back(ShortNumber(tick));
    return labels;
  }
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
