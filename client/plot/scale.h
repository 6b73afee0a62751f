// Scales that map values to pixels, and ticks with their labels.
#pragma once

#include <string>
#include <vector>

namespace locus::client::plot {

struct Interval {
  double low = 0;
  double high = 1;
};

// Whether a number can be drawn: it is finite and its magnitude is at most
// 1e300, since margins computed from larger numbers would overflow.
bool IsDrawable(double value);

// Whether the ends of an interval are equal up to rounding, in the wrong order,
// or not drawable. Ticks within such an interval would be indistinguishable.
bool IsFlat(Interval values);

// Maps values to pixels, linearly or logarithmically. A flat interval is
// widened so that its values map to the middle. Immutable.
class Scale {
 public:
  static Scale Linear(Interval values, Interval pixels);
  // Requires values.low > 0.
  static Scale Log(Interval values, Interval pixels);

  double At(double value) const;
  // Same as At(), clamped to the interval of pixels.
  double Clamped(double value) const;
  const Interval& values() const { return values_; }

 private:
  Scale(Interval values, Interval pixels, bool is_log);

  Interval values_;
  Interval pixels_;
  bool is_log_;
};

// Returns about `count` ticks, at most 2 * count + 2, in increasing order: the
// multiples within the interval of 1, 2 or 5 times a power of ten (Heckbert,
// "Nice Numbers for Graph Labels", 1990). Returns the low end of a flat
// interval.
std::vector<double> NiceTicks(Interval values, int count);

// Returns the ticks of a logarithmic axis: powers of ten, also multiplied by 2
// and 5 for a short axis, or NiceTicks() for an axis of less than 0.7 decades.
std::vector<double> LogTicks(Interval values);

// Formats ticks with the number of decimals that distinguishes them. Uses
// exponents only if the values are very large or very small.
std::vector<std::string> TickLabels(const std::vector<double>& ticks);

// Formats a number with four significant digits, without trailing zeros.
std::string ShortNumber(double value);

}  // namespace locus::client::plot
