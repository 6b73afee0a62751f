#include "core/encoding/schemes/fire_network.h"

namespace locus {

FireLines::FireLines(const FireNumbers& numbers) {
  for (int64_t n = 0; n < numbers.width; ++n) {
    const double knot =
        -numbers.values[numbers.B1(n)] / numbers.values[numbers.W1(n)];
    if (std::isfinite(knot)) knots_.push_back(knot);
  }
  std::sort(knots_.begin(), knots_.end());
  for (int64_t h = 0; h < numbers.head_count; ++h) {
    for (size_t piece = 0; piece <= knots_.size(); ++piece) {
      lines_.push_back(LineAt(numbers, h, Inside(piece)));
    }
  }
}

double FireLines::Inside(size_t piece) const {
  if (knots_.empty()) return 0;
  // A knot may be so large that adding 1 to it has no effect.
  if (piece == 0) {
    return knots_.front() - std::max(1.0, std::abs(knots_.front()));
  }
  if (piece == knots_.size()) {
    return knots_.back() + std::max(1.0, std::abs(knots_.back()));
  }
  return knots_[piece - 1] + (knots_[piece] - knots_[piece - 1]) / 2;
}

FireLines::Line FireLines::LineAt(const FireNumbers& numbers, int64_t h,
                                  double x) {
  Line line{.start = numbers.values[numbers.B2(h)]};
  for (int64_t n = 0; n < numbers.width; ++n) {
    if (numbers.Hidden(n, x) <= 0) continue;
    const double weight = numbers.values[numbers.W2(h, n)];
    line.start += weight * numbers.values[numbers.B1(n)];
    line.slope += weight * numbers.values[numbers.W1(n)];
  }
  return line;
}

}  // namespace locus
