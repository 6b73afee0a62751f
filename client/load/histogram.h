// Histogram of latencies with three significant digits.
#pragma once

#include <cstdint>
#include <vector>

namespace locus::client::load {

// Histogram of times between 0 and one hour with logarithmic buckets that are
// subdivided linearly, like HdrHistogram (Gil Tene, http://hdrhistogram.org).
// The width of a bin is at most 1/1024 of the times in it, so that percentiles
// have the same relative precision at all magnitudes. Memory is constant.
// Minimum, maximum and mean are exact.
//
// Not thread-safe.
class Histogram {
 public:
  // Maximum time; longer times are recorded as this value.
  static constexpr int64_t kMaxNanos = int64_t{3600} * 1000 * 1000 * 1000;

  // One bin, represented by its largest time.
  struct Bin {
    int64_t nanos = 0;
    int64_t count = 0;
  };

  Histogram();

  // Records a time `count` times. Negative times are recorded as 0.
  void Record(int64_t nanos, int64_t count = 1);
  // Adds the contents of another histogram.
  void Add(const Histogram& other);
  void Clear();

  // Summary statistics; all are 0 for an empty histogram.
  int64_t count() const { return count_; }
  int64_t min() const { return count_ == 0 ? 0 : min_; }
  int64_t max() const { return max_; }
  double sum() const { return sum_; }
  double mean() const;

  // Returns the smallest time such that at least `percent` percent of all times
  // do not exceed it, rounded up to the end of its bin.
  int64_t Percentile(double percent) const;
  // Returns the time of that rank, counted from 1 for the smallest time. Ranks
  // out of range are clamped.
  int64_t AtRank(int64_t rank) const;

  // Returns the non-empty bins in increasing order.
  std::vector<Bin> Bins() const;
  // The statistics that cannot be restored exactly from bins.
  struct Exact {
    int64_t min = 0;
    int64_t max = 0;
    double sum = 0;
  };
  // Restores a histogram from the result of Bins() and its exact statistics.
  static Histogram FromBins(const std::vector<Bin>& bins, const Exact& exact);

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace locus::client::load
