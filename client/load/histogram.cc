#include "client/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace locus::client::load {
namespace {

// Times below 2 * kBinsPerOctave have a bin each. Each octave (doubling) above
// has kBinsPerOctave bins, which are twice as wide as those of the octave
// below: at most 1/1024 of the times in them.
constexpr int kOctaveBits = 10;
constexpr int64_t kBinsPerOctave = int64_t{1} << kOctaveBits;

// Returns the base-2 logarithm of the width of the bin of a time.
int Shift(int64_t nanos) {
  const int width = std::bit_width(static_cast<uint64_t>(nanos));
  return std::max(0, width - (kOctaveBits + 1));
}

int64_t IndexOf(int64_t nanos) {
  const int shift = Shift(nanos);
  return shift * kBinsPerOctave + (nanos >> shift);
}

// Returns the largest time of a bin.
int64_t LargestOf(int64_t index) {
  if (index < 2 * kBinsPerOctave) return index;
  const int64_t shift = index / kBinsPerOctave - 1;
  return ((index - shift * kBinsPerOctave + 1) << shift) - 1;
}

}  // namespace

Histogram::Histogram() : counts_(IndexOf(kMaxNanos) + 1) {}

void Histogram::Record(int64_t nanos, int64_t count) {
  if (count <= 0) return;
  nanos = std::clamp<int64_t>(nanos, 0, kMaxNanos);
  counts_[IndexOf(nanos)] += count;
  min_ = count_ == 0 ? nanos : std::min(min_, nanos);
  max_ = std::max(max_, nanos);
  sum_ += static_cast<double>(nanos) * static_cast<double>(count);
  count_ += count;
}

void Histogram::Add(const Histogram& other) {
  if (other.count_ == 0) return;
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

void Histogram::Clear() {
  if (count_ == 0) return;
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = min_ = max_ = 0;
  sum_ = 0;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

int64_t Histogram::Percentile(double percent) const {
  // Tolerance for percentages such as 99.9 that are not binary fractions:
  // without it, the 99.9th percentile of 1000 times might have rank 1000
  // instead of 999.
  constexpr double kTolerance = 1e-6;
  return AtRank(static_cast<int64_t>(
      std::ceil(percent / 100 * static_cast<double>(count_) - kTolerance)));
}

int64_t Histogram::AtRank(int64_t rank) const {
  if (count_ == 0) return 0;
  rank = std::clamp<int64_t>(rank, 1, count_);
  int64_t passed = 0;
  for (int64_t i = IndexOf(min_);; ++i) {
    passed += counts_[i];
    if (passed >= rank) return std::clamp(LargestOf(i), min_, max_);
  }
}

std::vector<Histogram::Bin> Histogram::Bins() const {
  std::vector<Bin> bins;
  for (int64_t i = 0; i < static_cast<int64_t>(counts_.size()); ++i) {
    if (counts_[i] > 0) bins.push_back({LargestOf(i), counts_[i]});
  }
  return bins;
}

Histogram Histogram::FromBins(const std::vector<Bin>& bins,
                              const Exact& exact) {
  Histogram histogram;
  for (const Bin& bin : bins) histogram.Record(bin.nanos, bin.count);
  if (histogram.count_ == 0) return histogram;
  // Ignores exact values outside of their bins, which a modified file may have.
  const auto same_bin = [](int64_t nanos, int64_t bound) {
    return IndexOf(std::clamp<int64_t>(nanos, 0, kMaxNanos)) == IndexOf(bound);
  };
  if (same_bin(exact.min, histogram.min_)) histogram.min_ = exact.min;
  if (same_bin(exact.max, histogram.max_)) histogram.max_ = exact.max;
  if (exact.sum > 0) histogram.sum_ = exact.sum;
  return histogram;
}

}  // namespace locus::client::load
