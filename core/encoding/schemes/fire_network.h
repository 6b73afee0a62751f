// The network of FIRE, which maps a normalised distance to a bias per head, and
// its piecewise linear form. See fire.cc for the formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace locus {

// All numbers of FIRE, in the order of the trainable parameters.
struct FireNumbers {
  int64_t width = 0;
  int64_t head_count = 0;
  std::vector<double> values;  // c, L, w1, b1, w2 [heads, width], b2

  static int64_t Count(int64_t width, int64_t head_count) {
    return 2 + 2 * width + head_count * (width + 1);
  }

  double c() const { return values[0]; }
  double threshold() const { return std::abs(values[1]); }
  int64_t W1(int64_t n) const { return 2 + n; }
  int64_t B1(int64_t n) const { return 2 + width + n; }
  int64_t W2(int64_t h, int64_t n) const {
    return 2 + 2 * width + h * width + n;
  }
  int64_t B2(int64_t h) const { return 2 + 2 * width + head_count * width + h; }

  // Input of hidden unit n's activation function.
  double Hidden(int64_t n, double x) const {
    return values[W1(n)] * x + values[B1(n)];
  }
  // Output of the network for head h.
  double Output(int64_t h, double x) const {
    double sum = values[B2(h)];
    for (int64_t n = 0; n < width; ++n) {
      sum += values[W2(h, n)] * std::max(Hidden(n, x), 0.0);
    }
    return sum;
  }
};

// Piecewise linear form of the network. Immutable. A ReLU network with one
// input is linear between the points at which a hidden unit switches on or off,
// so that one line is evaluated for each input instead of all hidden units.
class FireLines {
 public:
  explicit FireLines(const FireNumbers& numbers);

  struct Line {
    double start = 0;
    double slope = 0;
    double At(double x) const { return start + slope * x; }
  };

  // Index of the piece that contains x.
  size_t PieceOf(double x) const {
    return std::upper_bound(knots_.begin(), knots_.end(), x) - knots_.begin();
  }
  // First input of a piece, and first input of the next piece.
  double Begin(size_t piece) const {
    return piece == 0 ? -std::numeric_limits<double>::infinity()
                      : knots_[piece - 1];
  }
  double End(size_t piece) const {
    return piece == knots_.size() ? std::numeric_limits<double>::infinity()
                                  : knots_[piece];
  }
  const Line& Get(int64_t head, size_t piece) const {
    return lines_[head * (knots_.size() + 1) + piece];
  }
  double At(int64_t head, double x) const {
    return Get(head, PieceOf(x)).At(x);
  }

 private:
  // A point inside a piece.
  double Inside(size_t piece) const;
  // The line of head h in the piece that contains x.
  static Line LineAt(const FireNumbers& numbers, int64_t h, double x);

  std::vector<double> knots_;
  std::vector<Line> lines_;  // [heads, knots + 1]
};

}  // namespace locus
