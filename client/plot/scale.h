// From numbers to places, and the numbers worth a label.
#pragma once

#include <string>
#include <vector>

namespace locus::client::plot {

struct Interval {
  double low = 0;
  double high = 1;
};

// Whether a number can be given a place. Sizes beyond 1e300 cannot: what is
// computed of them, such as a margin, would be infinite.
bool IsDrawable(double value);

// Whether the ends are the same but for rounding: ticks between them could not
// be told apart. Also if they are in the wrong order or cannot be drawn.
bool IsFlat(Interval values);

// Maps `values` to `pixels`, linearly or by logarithm. A flat interval is
// widened, so that everything has a place.
class Scale {
 public:
  static Scale Linear(Interval values, Interval pixels);
  // `values.low` must be positive.
  static Scale Log(Interval values, Interval pixels);

  double At(double value) const;
  // The nearest place within the pixels.
  double Clamped(double value) const;
  const Interval& values() const { return values_; }

 private:
  Scale(Interval values, Interval pixels, bool is_log);

  Interval values_;
  Interval pixels_;
  bool is_log_;
};

// Multiples of 1, 2 or 5 times a power of ten within the interval, about
// `count` of them and never more than twice as many and two, ascending. Of a
// flat interval its low end.
std::vector<double> NiceTicks(Interval values, int count);

// Of a logarithmic axis: powers of ten, with 2 and 5 times them where the axis
// is short, or NiceTicks where it is shorter than that.
std::vector<double> LogTicks(Interval values);

// All with as many decimals as tell them apart, none with an exponent unless
// all are tiny or huge.
std::vector<std::string> TickLabels(const std::vector<double>& ticks);

// A number as people write it: four digits that matter, no zeros at the end.
std::string ShortNumber(double value);

}  // namespace locus::client::plot
