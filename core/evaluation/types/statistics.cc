#include "core/evaluation/types/statistics.h"

#include <cmath>

namespace locus {
namespace {

constexpr double kPi = 3.14159265358979323846;

// P(|T| <= t) by the finite series of Abramowitz and Stegun, equations 26.7.3
// and 26.7.4.
double CentralMass(double t, int64_t degrees) {
  const double n = static_cast<double>(degrees);
  const double theta = std::atan(t / std::sqrt(n));
  const double cosine = std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  // Terms with cosine to the power of up to degrees - 2.
  for (int64_t power = odd ? 3 : 2; power <= degrees - 2; power += 2) {
    const double p = static_cast<double>(power);
    term *= (p - 1) / p * cosine * cosine;
    sum += term;
  }
  const double mass = std::sin(theta) * sum;
  return odd ? 2 / kPi * (theta + mass) : mass;
}

// Cornish-Fisher expansion for many degrees of freedom, Abramowitz and Stegun,
// equation 26.7.5.
double CornishFisherQuantile(double n) {
  constexpr double z = 1.959963984540054;
  const double z2 = z * z;
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  return z + (g1 + (g2 + g3 / n) / n) / n;
}

}  // namespace

double StudentQuantile(int64_t degrees) {
  constexpr int64_t kManyDegrees = 2000;
  if (degrees > kManyDegrees)
    return CornishFisherQuantile(static_cast<double>(degrees));
  double low = 1.9;  // below the quantile of the normal distribution
  double high = 13;  // above the quantile of one degree of freedom
  while (high - low > 1e-12) {
    const double middle = (low + high) / 2;
    (CentralMass(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return (low + high) / 2;
}

MeanInterval IntervalOf(absl::Span<const double> values) {
  MeanInterval interval;
  interval.count = static_cast<int64_t>(values.size());
  if (values.empty()) return interval;
  const double count = static_cast<double>(values.size());
  for (const double value : values) interval.mean += value;
  interval.mean /= count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - interval.mean) * (value - interval.mean);
  }
  const double half = values.size() == 1
                          ? 0
                          : StudentQuantile(interval.count - 1) *
                                std::sqrt(squares / (count - 1) / count);
  interval.low = interval.mean - half;
  interval.high = interval.mean + half;
  return interval;
}

}  // namespace locus
