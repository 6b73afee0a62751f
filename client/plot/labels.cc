#include "client/plot/labels.h"

#include <algorithm>
#include <numeric>

namespace locus::client::plot {
namespace {

// A group of labels that touch each other and move together.
struct Block {
  // Sum of the wanted positions, each minus the offset within the block.
  double sum = 0;
  size_t count = 0;

  // Returns the position of the first label that is nearest to the wanted
  // positions.
  double Start(double gap, Interval room) const {
    const double last = room.high - gap * (static_cast<double>(count) - 1);
    return std::max(room.low, std::min(sum / static_cast<double>(count), last));
  }
};

}  // namespace

std::vector<double> SeparateLabels(const std::vector<double>& wanted,
                                   double gap, Interval room) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  std::vector<Block> blocks;
  for (const size_t index : order) {
    blocks.push_back({wanted[index], 1});
    while (blocks.size() > 1) {
      Block& before = blocks[blocks.size() - 2];
      const Block& last = blocks.back();
      const double extent = gap * static_cast<double>(before.count);
      if (before.Start(gap, room) + extent <= last.Start(gap, room)) break;
      before.sum += last.sum - extent * static_cast<double>(last.count);
      before.count += last.count;
      blocks.pop_back();
    }
  }
  std::vector<double> places(wanted.size());
  size_t next = 0;
  for (const Block& block : blocks) {
    for (size_t i = 0; i < block.count; ++i) {
      places[order[next++]] =
          block.Start(gap, room) + gap * static_cast<double>(i);
    }
  }
  return places;
}

}  // namespace locus::client::plot
