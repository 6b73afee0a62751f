#include "client/cli/render/bias_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "locus/client/tensor.h"

namespace locus::client {

std::vector<int64_t> BiasByDistance::Distances() const {
  std::vector<int64_t> distances;
  for (int64_t n = 0; n < length(); n = n == 0 ? 1 : 4 * n) {
    distances.push_back(n);
  }
  if (length() > 0 && distances.back() != length() - 1) {
    distances.push_back(length() - 1);
  }
  return distances;
}

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

std::vector<int64_t> SampledKeys(int64_t length) {
  constexpr int64_t kDense = 1024;
  std::vector<int64_t> keys;
  // Beyond the dense part, consecutive distances grow by at most 1/256.
  for (int64_t distance = 0; distance < length;
       distance += distance < kDense ? 1 : 1 + distance / 256) {
    keys.push_back(length - 1 - distance);
  }
  if (!keys.empty() && keys.back() != 0) keys.push_back(0);
  std::reverse(keys.begin(), keys.end());
  return keys;
}

namespace {

// The part of the trained range by which a bias may exceed it without counting
// as new. FIRE approaches the end of its range with the length.
constexpr double kBiasTolerance = 1e-3;

// The smallest and the largest finite value.
std::pair<double, double> RangeOf(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return {low, high};
}

}  // namespace

BiasVerdict JudgeBiases(const BiasByDistance& trained,
                        const BiasByDistance& target) {
  BiasVerdict verdict;
  if (trained.heads.size() != target.heads.size()) return verdict;
  for (size_t h = 0; h < trained.heads.size(); ++h) {
    HeadBiasRange range;
    std::tie(range.trained_low, range.trained_high) = RangeOf(trained.heads[h]);
    std::tie(range.target_low, range.target_high) = RangeOf(target.heads[h]);
    verdict.heads.push_back(range);
    const double slack =
        kBiasTolerance * (range.trained_high - range.trained_low);
    const auto head = static_cast<int64_t>(h);
    if (range.target_high > range.trained_high + slack) {
      verdict.above.push_back(head);
    } else if (range.target_low < range.trained_low - slack) {
      verdict.below.push_back(head);
    } else {
      verdict.within.push_back(head);
    }
  }
  return verdict;
}

}  // namespace locus::client
