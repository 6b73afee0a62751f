#include "client/load/units.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace locus::client::load {
namespace {

constexpr std::pair<const char*, double> kSizeUnits[] = {
    {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9},
    {"MB", 1e6},      {"kB", 1e3},      {"KB", 1e3},      {"B", 1}};

// Formats a number with three significant digits, or more if it is at least
// 1000.
std::string ThreeDigits(double value) {
  if (value < 9.995) return absl::StrFormat("%.2f", value);
  if (value < 99.95) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.0f", value);
}

}  // namespace

absl::StatusOr<int64_t> ParseNanos(absl::string_view text) {
  absl::Duration duration;
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(std::string(text), &duration)) {
    duration = -absl::InfiniteDuration();
  }
  if (!(duration >= absl::ZeroDuration() && duration <= absl::Hours(1))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not a time up to an hour; write 5ms, 1.5s or 2m"));
  }
  return absl::ToInt64Nanoseconds(duration);
}

absl::StatusOr<double> ParseShare(absl::string_view text) {
  absl::string_view number = text;
  const double unit = absl::ConsumeSuffix(&number, "%") ? 100 : 1;
  double share = 0;
  if (!absl::SimpleAtod(number, &share) || !(share >= 0 && share / unit <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not a ratio; write 0.1% or 0.001"));
  }
  return share / unit;
}

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  absl::string_view number = text;
  double unit = 1;
  for (const auto& [name, bytes] : kSizeUnits) {
    if (absl::ConsumeSuffix(&number, name)) {
      unit = bytes;
      break;
    }
  }
  double count = 0;
  // Protobuf limits a message to 2 GiB.
  if (!absl::SimpleAtod(number, &count) ||
      !(count >= 1 / unit && count * unit < 2147483648.0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not a size below 2 GiB; write 4096, 64KiB or 1MB"));
  }
  return static_cast<int64_t>(count * unit);
}

std::string FormatNanos(double nanos) {
  if (nanos < 999.5) return absl::StrFormat("%.0fns", nanos);
  if (nanos < 999.5e3) return absl::StrCat(ThreeDigits(nanos / 1e3), "us");
  if (nanos < 999.5e6) return absl::StrCat(ThreeDigits(nanos / 1e6), "ms");
  return absl::StrCat(ThreeDigits(nanos / 1e9), "s");
}

std::string FormatRate(double per_second) {
  if (per_second >= 1000 || per_second == std::round(per_second)) {
    return absl::StrFormat("%.0f", per_second);
  }
  return absl::StrFormat("%.3g", per_second);
}

std::string FormatBytes(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes >= 1 << 30) return absl::StrFormat("%.3g GiB", size / (1 << 30));
  if (bytes >= 1 << 20) return absl::StrFormat("%.4g MiB", size / (1 << 20));
  if (bytes >= 1 << 10) return absl::StrFormat("%.4g KiB", size / (1 << 10));
  return absl::StrCat(bytes, " B");
}

double ToSeconds(int64_t nanos) {
  return static_cast<double>(nanos) / kNanosPerSecond;
}

int64_t FromSeconds(double seconds) {
  return std::llround(seconds * kNanosPerSecond);
}

}  // namespace locus::client::load
