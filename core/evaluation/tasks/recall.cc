#include "core/evaluation/tasks/recall.h"

#include <numeric>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/evaluation/tasks/examples.h"

namespace locus {
namespace {

// At least half of the keys are not queried.
constexpr int64_t kMaxQueries = kRecallKeyCount / 2;

struct RecallCounts {
  int64_t pairs = 1;
  int64_t queries = 1;
};

// Chooses counts with 2 pairs + 1 + queries = length, or the largest smaller
// number, and at least as many pairs as queries.
RecallCounts CountsOf(int64_t length) {
  for (int64_t queries = kMaxQueries; queries >= 1; --queries) {
    const int64_t rest = length - 1 - queries;
    if (rest % 2 == 0 && rest / 2 >= queries) return {rest / 2, queries};
  }
  return {1, 1};
}

int32_t DrawValue(RandomStream& stream) {
  return static_cast<int32_t>(kRecallKeyCount +
                              DrawInteger(stream, 0, kRecallValueCount - 1));
}

class RecallTask final : public TokenTask {
 public:
  RecallTask() : TokenTask("recall", kRecallValueCount) {}

  int64_t vocabulary_size() const override { return kRecallSeparator + 1; }
  int64_t default_step_count() const override { return 800; }
  int64_t min_length() const override { return 4; }

 protected:
  std::vector<Example> Sample(Use use, int64_t length,
                              RandomStream& stream) const override {
    const RecallCounts counts = CountsOf(length);
    std::vector<int32_t> alphabet(kRecallKeyCount);
    std::iota(alphabet.begin(), alphabet.end(), 0);
    Shuffle(stream, absl::MakeSpan(alphabet));

    // The first keys of the shuffled alphabet are queried.
    std::vector<int32_t> keys(alphabet.begin(),
                              alphabet.begin() + counts.queries);
    while (static_cast<int64_t>(keys.size()) < counts.pairs) {
      keys.push_back(
          alphabet[DrawInteger(stream, counts.queries, kRecallKeyCount - 1)]);
    }
    Shuffle(stream, absl::MakeSpan(keys));

    Example example;
    std::vector<int32_t> value_of(kRecallKeyCount, -1);
    for (const int32_t key : keys) {
      if (value_of[key] < 0) {
        value_of[key] = DrawValue(stream);
      } else if (use == Use::kTraining) {
        example.targets.push_back(
            {static_cast<int32_t>(example.tokens.size()), value_of[key]});
      }
      example.tokens.push_back(key);
      example.tokens.push_back(value_of[key]);
    }
    example.tokens.push_back(kRecallSeparator);
    for (int64_t i = 0; i < counts.queries; ++i) {
      example.targets.push_back(
          {static_cast<int32_t>(example.tokens.size()), value_of[alphabet[i]]});
      example.tokens.push_back(alphabet[i]);
    }
    return {std::move(example)};
  }
};

}  // namespace

std::unique_ptr<Task> MakeRecallTask() {
  return std::make_unique<RecallTask>();
}

}  // namespace locus
