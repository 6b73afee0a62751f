// Benchmarks of a training step of the model that evaluations train, for every
// scheme: width 64, 2 layers, 4 heads, feed-forward width 256, sequence length
// 64, batch size 32.
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "core/training/trainer.h"
#include "tests/bench/machine.h"
#include "tests/bench/side_by_side.h"
#include "tests/bench/table.h"

namespace locus::bench {
namespace {

using Format = Column::Format;

constexpr int64_t kLength = 64;
constexpr int64_t kBatch = 32;
constexpr int64_t kVocabulary = 64;
constexpr double kGiga = 1e9;

std::vector<Example> RandomBatch() {
  RandomStream stream(1, "batch");
  std::vector<Example> batch(kBatch);
  for (Example& example : batch) {
    for (int64_t t = 0; t < kLength; ++t) {
      example.tokens.push_back(
          static_cast<int32_t>(stream.Next() % kVocabulary));
      example.targets.push_back(
          {static_cast<int32_t>(t),
           static_cast<int32_t>(stream.Next() % kVocabulary)});
    }
  }
  return batch;
}

absl::StatusOr<Counters> Measure(const SchemeInfo& info, int threads,
                                 double seconds) {
  const TransformerShape shape{.vocabulary_size = kVocabulary};
  const TrainingSetting setting{.train_length = kLength};
  LOCUS_ASSIGN_OR_RETURN(const auto scheme, MakeScheme(info, {}, &setting));
  LOCUS_ASSIGN_OR_RETURN(
      const auto trainer,
      Trainer<float>::Create(shape, *scheme, {}, kLength, /*seed=*/1));
  const std::vector<Example> batch = RandomBatch();
  ThreadPool pool(threads);
  ThreadPool one(1);
  const auto step_on = [&](ThreadPool& on) {
    return Contender{[&] {
                       auto loss = trainer->Step(batch, on, nullptr);
                       benchmark::DoNotOptimize(loss);
                     },
                     3 * kBatch * shape.ForwardFlops(kLength)};
  };
  std::vector<Contender> contenders = {step_on(pool), FmaPeak(pool)};
  if (threads > 1) contenders.push_back(step_on(one));
  const SideBySide measured(contenders, seconds);
  Counters counters = {{kSeconds, measured.Seconds(0)},
                       {"GFLOP/s", measured.Rate(0) / kGiga},
                       {"peak GFLOP/s", measured.Rate(1) / kGiga},
                       {"of peak", measured.Ratio(0, 1)}};
  if (threads > 1) counters["x one thread"] = measured.Ratio(0, 2);
  return counters;
}

void AddAll(const Settings& settings, Tables& tables) {
  tables.Add({"Train",
              "Training step: width 64, 2 layers, 4 heads, feed-forward 256, "
              "T 64, batch 32",
              {"scheme", "threads"},
              {{"time", kSeconds, Format::kTime},
               {"GFLOP/s", "GFLOP/s"},
               {"FMA peak", "peak GFLOP/s"},
               {"of peak", "of peak", Format::kPercent},
               {"x one thread", "x one thread", Format::kRatio}}});
  for (const SchemeInfo& info : AllSchemes()) {
    for (const int threads : {1, 2}) {
      tables.AddRow({std::string(info.name), absl::StrCat("threads:", threads)},
                    [&info, threads, seconds = settings.seconds] {
                      return Measure(info, threads, seconds);
                    });
    }
  }
}

}  // namespace
}  // namespace locus::bench

int main(int argc, char** argv) {
  return locus::bench::RunTables(argc, argv, locus::bench::AddAll);
}
