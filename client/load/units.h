// Times, shares and sizes as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::client::load {

constexpr double kNanosPerSecond = 1e9;

// "5ms", "1.5s", "2m"; a number alone is seconds. INVALID_ARGUMENT unless it is
// a time of at least 0 and at most an hour.
absl::StatusOr<int64_t> ParseNanos(absl::string_view text);
// "0.1%" or "0.001"; from 0 to 1.
absl::StatusOr<double> ParseShare(absl::string_view text);
// "4096", "64KiB", "1.5MB".
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);

// Three significant digits: "820ns", "37.2us", "1.23ms", "61.5s".
std::string FormatNanos(double nanos);
// "19998" or "0.25": as many digits as a rate deserves.
std::string FormatRate(double per_second);
// "512 B", "1.5 MiB".
std::string FormatBytes(int64_t bytes);

double ToSeconds(int64_t nanos);
int64_t FromSeconds(double seconds);

}  // namespace locus::client::load
