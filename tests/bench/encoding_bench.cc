// The numbers of every scheme.
#include <string>

#include <benchmark/benchmark.h>

#include "core/encoding/encode.h"
#include "core/encoding/schemes.h"

namespace locus {
namespace {

void Encode(benchmark::State& state, const SchemeInfo& info) {
  ThreadPool pool(1);
  EncodeOptions options;
  options.positions = *Positions::Range(0, state.range(0));
  options.dim = 64;
  options.head_count = 8;
  const auto scheme = MakeScheme(info, {});
  const auto job = EncodeJob::Create(**scheme, options);
  if (!job.ok()) {
    state.SkipWithError(std::string(job.status().message()).c_str());
    return;
  }
  for (auto _ : state) {
    auto out = job->Run(pool, nullptr);
    benchmark::DoNotOptimize(out);
  }
  state.SetBytesProcessed(state.iterations() * job->output_bytes());
}

void RegisterAll() {
  for (const SchemeInfo& info : AllSchemes()) {
    if (info.site == Site::kNowhere) continue;
    benchmark::RegisterBenchmark(
        ("Encode/" + std::string(info.name)).c_str(),
        [&info](benchmark::State& state) { Encode(state, info); })
        ->ArgName("T")
        ->Arg(512)
        ->Unit(benchmark::kMicrosecond);
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
