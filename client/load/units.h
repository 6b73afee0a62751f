// Parsing and formatting of durations, ratios, sizes and rates with units.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::client::load {

constexpr double kNanosPerSecond = 1e9;

// Parses a duration between 0 and one hour, such as "5ms", "1.5s" or "2m". A
// number without a unit is in seconds.
absl::StatusOr<int64_t> ParseNanos(absl::string_view text);
// Parses a ratio between 0 and 1, such as "0.1%" or "0.001".
absl::StatusOr<double> ParseShare(absl::string_view text);
// Parses a size, such as "4096", "64KiB" or "1.5MB".
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);

// Formats a duration with three significant digits, as in "820ns", "37.2us",
// "1.23ms" or "61.5s".
std::string FormatNanos(double nanos);
// Formats a rate: integers and rates from 1000 on without decimals, as in
// "19998", others with three significant digits, as in "0.25".
std::string FormatRate(double per_second);
// Formats a size, as in "512 B" or "1.5 MiB".
std::string FormatBytes(int64_t bytes);

double ToSeconds(int64_t nanos);
int64_t FromSeconds(double seconds);

}  // namespace locus::client::load
