// Times counted with three significant digits, from a nanosecond to an hour.
#pragma once

#include <cstdint>
#include <vector>

namespace locus::client::load {

// A high-dynamic-range histogram: the width of a bin is at most a thousandth of
// the times in it, so that a percentile of an hour is as exact as one of a
// microsecond, and memory does not grow with what is counted. Smallest, largest
// and mean are exact.
class Histogram {
 public:
  // What is longer is counted as this long.
  static constexpr int64_t kMaxNanos = int64_t{3600} * 1000 * 1000 * 1000;

  // Times that count as the same, by the longest of them.
  struct Bin {
    int64_t nanos = 0;
    int64_t count = 0;
  };

  Histogram();

  // What is negative is counted as zero.
  void Record(int64_t nanos, int64_t count = 1);
  void Add(const Histogram& other);
  void Clear();

  int64_t count() const { return count_; }
  // All are 0 while nothing is counted.
  int64_t min() const { return count_ == 0 ? 0 : min_; }
  int64_t max() const { return max_; }
  double sum() const { return sum_; }
  double mean() const;

  // The smallest time that at least `percent` of all do not exceed, rounded up
  // within its bin.
  int64_t Percentile(double percent) const;
  // The time with that rank, 1 being the smallest; ranks out of range are taken
  // as the nearest.
  int64_t AtRank(int64_t rank) const;

  // Those that are not empty, shortest times first.
  std::vector<Bin> Bins() const;
  // What Bins gave, with the figures that are exact.
  struct Exact {
    int64_t min = 0;
    int64_t max = 0;
    double sum = 0;
  };
  static Histogram FromBins(const std::vector<Bin>& bins, const Exact& exact);

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace locus::client::load
