#include "core/base/random.h"

#include <cmath>

namespace locus {
namespace {

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t Fnv1a64(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

// ln x for finite x > 0, to a few units in the last place, using only basic
// arithmetic: x = m 2^e with m in [sqrt(1/2), sqrt 2), and
// ln m = 2 artanh(t), t = (m - 1) / (m + 1), |t| < 0.172.
double PortableLog(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  int exponent;
  double m = std::frexp(x, &exponent);  // in [1/2, 1)
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  const double t = (m - 1) / (m + 1);
  const double t2 = t * t;
  double series = 0;
  for (int k = 23; k >= 1; k -= 2) series = series * t2 + 1.0 / k;
  return exponent * kLn2 + 2 * t * series;
}

template <typename Value>
void Fill(RandomStream& stream, double deviation, absl::Span<Value> values) {
  for (Value& value : values) {
    value = static_cast<Value>(deviation * stream.Normal());
  }
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, absl::string_view purpose)
    : state_(Mix(seed ^ Fnv1a64(purpose))) {}

uint64_t RandomStream::Next() {
  state_ += 0x9e3779b97f4a7c15u;
  return Mix(state_);
}

double RandomStream::Uniform() {
  return static_cast<double>(Next() >> 11) * 0x1p-53;
}

double RandomStream::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double u, v, s;
  do {
    u = 2 * Uniform() - 1;
    v = 2 * Uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  const double factor = std::sqrt(-2 * PortableLog(s) / s);
  spare_ = v * factor;
  has_spare_ = true;
  return u * factor;
}

void RandomStream::FillNormal(double deviation, absl::Span<float> values) {
  Fill(*this, deviation, values);
}

void RandomStream::FillNormal(double deviation, absl::Span<double> values) {
  Fill(*this, deviation, values);
}

}  // namespace locus
