// The attention forward pass, for every scheme that acts on heads.
#include <map>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "core/attention/attention.h"
#include "core/base/random.h"
#include "core/encoding/schemes.h"

namespace locus {
namespace {

constexpr int64_t kHeads = 8;
constexpr int64_t kDim = 64;

Tensor RandomHeads(int64_t length, absl::string_view purpose) {
  Tensor tensor(DType::kFloat32, {1, kHeads, length, kDim});
  RandomStream(1, purpose)
      .FillNormal(1, absl::MakeSpan(reinterpret_cast<float*>(tensor.at(0)),
                                    tensor.element_count()));
  return tensor;
}

void Attend(benchmark::State& state, const SchemeInfo& info, bool causal) {
  const int64_t length = state.range(0);
  ThreadPool pool(static_cast<int>(state.range(1)));
  const Tensor q = RandomHeads(length, "q");
  const Tensor k = RandomHeads(length, "k");
  const Tensor v = RandomHeads(length, "v");
  const auto scheme = MakeScheme(info, {});
  AttentionOptions options;
  options.causal = causal;
  const auto job =
      AttentionJob::Create(**scheme, {q.view(), k.view(), v.view()}, options);
  if (!job.ok()) {
    state.SkipWithError(std::string(job.status().message()).c_str());
    return;
  }
  for (auto _ : state) {
    auto out = job->Run(pool, nullptr);
    benchmark::DoNotOptimize(out);
  }
  state.counters["FLOP/s"] =
      benchmark::Counter(job->flops() * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void RegisterAll() {
  for (const SchemeInfo& info : AllSchemes()) {
    if (info.site == Site::kEmbeddings) continue;
    benchmark::RegisterBenchmark(
        ("Attend/" + std::string(info.name) + "/causal").c_str(),
        [&info](benchmark::State& state) { Attend(state, info, true); })
        ->ArgNames({"T", "threads"})
        ->ArgsProduct({{16, 128, 512, 2048}, {1, 2}})
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RegisterBenchmark("Attend/none",
                               [](benchmark::State& state) {
                                 Attend(state, *FindScheme("none"), false);
                               })
      ->ArgNames({"T", "threads"})
      ->ArgsProduct({{16, 128, 512, 2048}, {1, 2}})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
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
