// A training step of the evaluated model: width 64, 2 layers, 4 heads,
// feed-forward 256, sequences of 64, batches of 32, for every scheme.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "core/base/random.h"
#include "core/encoding/schemes.h"
#include "core/evaluation/trainer.h"

namespace locus {
namespace {

std::vector<Example> RandomBatch(int64_t vocabulary, int64_t count,
                                 int64_t length) {
  RandomStream stream(1, "batch");
  std::vector<Example> batch(count);
  for (Example& example : batch) {
    for (int64_t t = 0; t < length; ++t) {
      example.tokens.push_back(
          static_cast<int32_t>(stream.Next() % vocabulary));
      example.targets.push_back(
          {static_cast<int32_t>(t),
           static_cast<int32_t>(stream.Next() % vocabulary)});
    }
  }
  return batch;
}

void Train(benchmark::State& state, const SchemeInfo& info) {
  constexpr int64_t kBatch = 32;
  const int64_t length = state.range(0);
  ThreadPool pool(static_cast<int>(state.range(1)));
  const TransformerShape shape{.vocabulary_size = 64};
  const TrainingSetting setting{.train_length = length};
  const auto scheme = MakeScheme(info, {}, &setting);
  auto trainer = Trainer<float>::Create(shape, **scheme, {}, length, 1);
  if (!trainer.ok()) {
    state.SkipWithError(std::string(trainer.status().message()).c_str());
    return;
  }
  const auto batch = RandomBatch(shape.vocabulary_size, kBatch, length);
  for (auto _ : state) {
    auto loss = (*trainer)->Step(batch, pool, nullptr);
    benchmark::DoNotOptimize(loss);
  }
  state.counters["FLOP/s"] =
      benchmark::Counter(3 * kBatch * shape.ForwardFlops(length) *
                             static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void RegisterAll() {
  for (const SchemeInfo& info : AllSchemes()) {
    benchmark::RegisterBenchmark(
        ("Train/" + std::string(info.name)).c_str(),
        [&info](benchmark::State& state) { Train(state, info); })
        ->ArgNames({"T", "threads"})
        ->ArgsProduct({{16, 64}, {1, 2}})
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  locus::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
