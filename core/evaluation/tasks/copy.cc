#include "core/evaluation/tasks/copy.h"

#include <algorithm>
#include <vector>

#include "core/base/random.h"
#include "core/evaluation/tasks/examples.h"

namespace locus {
namespace {

enum class Direction { kForwards, kBackwards };

class CopyTask final : public TokenTask {
 public:
  explicit CopyTask(Direction direction)
      : TokenTask(direction == Direction::kForwards ? "copy" : "reverse",
                  kCopySymbolCount),
        direction_(direction) {}

  int64_t vocabulary_size() const override { return kCopySeparator + 1; }
  int64_t default_step_count() const override { return 1000; }
  int64_t min_length() const override { return 2; }

 protected:
  std::vector<Example> Sample(Use use, int64_t length,
                              RandomStream& stream) const override {
    const int64_t count = length / 2;
    std::vector<int32_t> symbols(count);
    for (int32_t& symbol : symbols) {
      symbol =
          static_cast<int32_t>(DrawInteger(stream, 0, kCopySymbolCount - 1));
    }
    std::vector<int32_t> answer = symbols;
    if (direction_ == Direction::kBackwards) {
      std::reverse(answer.begin(), answer.end());
    }
    Example example{.tokens = std::move(symbols)};
    example.tokens.push_back(kCopySeparator);
    for (int64_t i = 0; i < count; ++i) {
      example.targets.push_back({static_cast<int32_t>(count + i), answer[i]});
    }
    example.tokens.insert(example.tokens.end(), answer.begin(),
                          answer.end() - 1);
    return {std::move(example)};
  }

 private:
  Direction direction_;
};

}  // namespace

std::unique_ptr<Task> MakeCopyTask() {
  return std::make_unique<CopyTask>(Direction::kForwards);
}

std::unique_ptr<Task> MakeReverseTask() {
  return std::make_unique<CopyTask>(Direction::kBackwards);
}

}  // namespace locus
