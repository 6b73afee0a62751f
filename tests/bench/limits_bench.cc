// Benchmarks of the machine: FMA peak and memory bandwidth, on one thread and
// on two. The other benchmarks measure these limits again for each of their
// rows.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bench/machine.h"
#include "tests/bench/side_by_side.h"
#include "tests/bench/table.h"

namespace locus::bench {
namespace {

constexpr double kGiga = 1e9;
constexpr int64_t kBytes = int64_t{128} << 20;

void AddMemoryRow(const std::string& label, int threads,
                  Contender (*limit)(ThreadPool&, int64_t), double seconds,
                  Tables& tables) {
  tables.AddRow({label, absl::StrCat("threads:", threads)},
                [=]() -> absl::StatusOr<Counters> {
                  ThreadPool pool(threads);
                  const SideBySide measured({limit(pool, kBytes)}, seconds);
                  return Counters{{"GB/s", measured.Rate(0) / kGiga}};
                });
}

void AddAll(const Settings& settings, Tables& tables) {
  const double seconds = settings.seconds;
  tables.Add({"Peak",
              "Fused multiply-add on registers, float32",
              {"instructions", "threads"},
              {{"GFLOP/s", "GFLOP/s"}}});
  for (const std::string& set : InstructionSets()) {
    for (const int threads : {1, 2}) {
      tables.AddRow({set, absl::StrCat("threads:", threads)},
                    [=]() -> absl::StatusOr<Counters> {
                      const InstructionSetLimit limit(set);
                      ThreadPool pool(threads);
                      const SideBySide measured({FmaPeak(pool)}, seconds);
                      return Counters{{"GFLOP/s", measured.Rate(0) / kGiga}};
                    });
    }
  }
  tables.Add(
      {"Memory",
       "Memory, arrays of 128 MiB; a copied byte counts as read and written",
       {"access", "threads"},
       {{"GB/s", "GB/s"}}});
  for (const int threads : {1, 2}) {
    AddMemoryRow("read", threads, MemoryRead, seconds, tables);
    AddMemoryRow("streaming,write", threads, StreamingWrite, seconds, tables);
    AddMemoryRow("memcpy", threads, MemoryCopy, seconds, tables);
  }
}

}  // namespace
}  // namespace locus::bench

int main(int argc, char** argv) {
  return locus::bench::RunTables(argc, argv, locus::bench::AddAll);
}
