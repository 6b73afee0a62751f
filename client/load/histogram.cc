#include "client/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace locus::client::load {
namespace {

// Times below 2 * kHalf have a bin each. From there on every doubling has kHalf
// bins, of twice the width of those before: at most 1/1024 of their times.
constexpr int kHalfBits = 10;
constexpr int64_t kHalf = int64_t{1} << kHalfBits;

int Shift(int64_t nanos) {
  const int width = std::bit_width(static_cast<uint64_t>(nanos));
  return std::max(0, width - (kHalfBits + 1));
}

int64_t IndexOf(int64_t nanos) {
  const int shift = Shift(nanos);
  return shift * kHalf + (nanos >> shift);
}

// The longest time of a bin.
int64_t LongestOf(int64_t index) {
  if (index < 2 * kHalf) return index;
  const int64_t shift = index / kHalf - 1;
  return ((index - shift * kHalf + 1) << shift) - 1;
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
  // 99.9 is no binary fraction: without the allowance, of 1000 times the one
  // ranked 999 might be taken for the one ranked 1000.
  constexpr double kAllowance = 1e-6;
  return AtRank(static_cast<int64_t>(
      std::ceil(percent / 100 * static_cast<double>(count_) - kAllowance)));
}

int64_t Histogram::AtRank(int64_t rank) const {
  if (count_ == 0) return 0;
  rank = std::clamp<int64_t>(rank, 1, count_);
  int64_t passed = 0;
  for (int64_t i = IndexOf(min_);; ++i) {
    passed += counts_[i];
    if (passed >= rank) return std::clamp(LongestOf(i), min_, max_);
  }
}

std::vector<Histogram::Bin> Histogram::Bins() const {
  std::vector<Bin> bins;
  for (int64_t i = 0; i < static_cast<int64_t>(counts_.size()); ++i) {
    if (counts_[i] > 0) bins.push_back({LongestOf(i), counts_[i]});
  }
  return bins;
}

Histogram Histogram::FromBins(const std::vector<Bin>& bins,
                              const Exact& exact) {
  Histogram histogram;
  for (const Bin& bin : bins) histogram.Record(bin.nanos, bin.count);
  if (histogram.count_ == 0) return histogram;
  // The exact figures lie within their bins, unless the file was meddled with.
  const auto within = [](int64_t nanos, int64_t bound) {
    return IndexOf(std::clamp<int64_t>(nanos, 0, kMaxNanos)) == IndexOf(bound);
  };
  if (within(exact.min, histogram.min_)) histogram.min_ = exact.min;
  if (within(exact.max, histogram.max_)) histogram.max_ = exact.max;
  if (exact.sum > 0) histogram.sum_ = exact.sum;
  return histogram;
}

}  // namespace locus::client::load
