// Benchmarks of the attention forward pass: share of the FMA peak, and speed
// relative to plain Eigen, to one thread, and to attention without positions.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "core/simd/gemm.h"
#include "tests/bench/attention_case.h"
#include "tests/bench/machine.h"
#include "tests/bench/side_by_side.h"
#include "tests/bench/table.h"

namespace locus::bench {
namespace {

using Format = Column::Format;

constexpr double kGiga = 1e9;
constexpr double kMebibyte = 1 << 20;

const Column kTime{"time", kSeconds, Format::kTime};
const Column kSpeed{"GFLOP/s", "GFLOP/s"};
const Column kPeak{"FMA peak", "peak GFLOP/s"};
const Column kShare{"of peak", "of peak", Format::kPercent};
const Column kTimesEigen{"x Eigen", "x Eigen", Format::kRatio};
const Column kScratch{"scratch MiB", "scratch MiB"};
const std::vector<std::string> kLabels = {"shape", "scheme", "threads"};

// The goal for the share of the FMA peak, or 0 if there is none.
double ShareGoal(const AttentionShape& shape) {
  if (shape.dim != 64 && shape.dim != 128) return 0;
  const bool is_long = shape.key_count >= 2048;
  const std::string instructions = InstructionSet();
  if (instructions == "AVX2") return is_long && !shape.causal ? 0.78 : 0;
  // AVX3 is Highway's name for AVX-512.
  if (instructions != "AVX3" || shape.key_count < 512) return 0;
  if (shape.causal) return is_long ? 0.7 : 0.55;
  return is_long ? 0.8 : 0.7;
}

// Common counters of a row whose first two contenders are the kernel and the
// FMA peak.
Counters BaseCounters(const SideBySide& measured, const AttentionCase& ours) {
  return {{kSeconds, measured.Seconds(0)},
          {kSpeed.counter, measured.Rate(0) / kGiga},
          {kPeak.counter, measured.Rate(1) / kGiga},
          {kShare.counter, measured.Ratio(0, 1)},
          {kScratch.counter,
           static_cast<double>(ours.scratch_bytes()) / kMebibyte}};
}

void SetGoal(const Column& column, double goal, Counters* counters) {
  if (goal > 0) (*counters)[column.counter + " goal"] = goal;
}

// Measures the kernel, the FMA peak and plain Eigen.
absl::StatusOr<Counters> MeasureAgainstEigen(const AttentionShape& shape,
                                             double seconds) {
  LOCUS_ASSIGN_OR_RETURN(const auto ours, AttentionCase::Create(shape));
  if (shape.key_count <= 512) LOCUS_RETURN_IF_ERROR(ours->CheckAgreement());
  const SideBySide measured(
      {ours->Ours(), FmaPeak(ours->pool()), ours->Eigen()}, seconds);
  Counters counters = BaseCounters(measured, *ours);
  counters[kTimesEigen.counter] = measured.Ratio(0, 2);
  SetGoal(kShare, ShareGoal(shape), &counters);
  SetGoal(kTimesEigen, 1, &counters);
  return counters;
}

// A second shape that the kernel is measured on, for comparison with the first.
struct Comparison {
  AttentionShape other;
  // Column of the speed relative to `other`, and its goal (0 if there is none).
  Column times;
  double goal = 0;
  bool with_eigen = false;
};

// Measures the kernel on a shape and on the shape it is compared with.
absl::StatusOr<Counters> MeasureAgainst(const AttentionShape& shape,
                                        const Comparison& comparison,
                                        double seconds) {
  LOCUS_ASSIGN_OR_RETURN(const auto ours, AttentionCase::Create(shape));
  LOCUS_ASSIGN_OR_RETURN(const auto other,
                         AttentionCase::Create(comparison.other));
  std::vector<Contender> contenders = {ours->Ours(), FmaPeak(ours->pool()),
                                       other->Ours(), FmaPeak(other->pool())};
  if (comparison.with_eigen) contenders.push_back(ours->Eigen());
  const SideBySide measured(contenders, seconds);
  Counters counters = BaseCounters(measured, *ours);
  counters["other seconds"] = measured.Seconds(2);
  counters["peak ratio"] = measured.Ratio(1, 3);
  counters[comparison.times.counter] = measured.Ratio(0, 2);
  SetGoal(comparison.times, comparison.goal, &counters);
  if (comparison.with_eigen) {
    counters[kTimesEigen.counter] = measured.Ratio(0, 4);
    SetGoal(kTimesEigen, 1, &counters);
  }
  return counters;
}

void AddAttention(double seconds, Tables& tables) {
  tables.Add({"Attend",
              "Attention without positions",
              kLabels,
              {kTime, kSpeed, kPeak, kShare, kTimesEigen, kScratch}});
  std::vector<AttentionShape> shapes;
  for (const bool causal : {false, true}) {
    for (const int64_t dim : {64, 128}) {
      for (const int64_t length : {1, 16, 128, 512, 2048, 8192}) {
        shapes.push_back(AttentionShape::Square(length, dim, causal));
        if (length == 8192) shapes.back().head_count = 2;
        shapes.back().key_head_count = shapes.back().head_count;
      }
    }
  }
  shapes.push_back(AttentionShape::Square(2048, 128, /*causal=*/true));
  shapes.back().head_count = 32;
  for (const AttentionShape& shape : shapes) {
    tables.AddRow(shape.Labels(), [shape, seconds] {
      return MeasureAgainstEigen(shape, seconds);
    });
  }
}

// Results with AVX2, for machines that also have a better instruction set.
void AddAvx2(double seconds, Tables& tables) {
  const std::vector<std::string> sets = InstructionSets();
  if (std::find(sets.begin() + 1, sets.end(), "AVX2") == sets.end()) return;
  tables.Add(
      {"AVX2",
       "Attention without positions, kernel, peak and Eigen limited to AVX2",
       kLabels,
       {kTime, kSpeed, kPeak, kShare, kTimesEigen, kScratch}});
  for (const bool causal : {false, true}) {
    for (const int64_t dim : {64, 128}) {
      const auto shape = AttentionShape::Square(2048, dim, causal);
      tables.AddRow(shape.Labels(), [shape, seconds] {
        const InstructionSetLimit limit("AVX2");
        return MeasureAgainstEigen(shape, seconds);
      });
    }
  }
}

void AddSchemes(double seconds, Tables& tables) {
  const Column times{"x none", "x none", Format::kRatio};
  tables.Add({"Scheme",
              "Schemes that act on heads, relative to none and to plain Eigen "
              "without positions",
              kLabels,
              {kTime, kSpeed, kPeak, kShare, times, kTimesEigen}});
  for (const SchemeInfo& info : AllSchemes()) {
    if (info.site != Site::kQueriesAndKeys && info.site != Site::kScores) {
      continue;
    }
    for (const int64_t length : {16, 512, 2048}) {
      auto shape = AttentionShape::Square(length, 64, /*causal=*/true);
      Comparison with{.other = shape, .times = times, .with_eigen = true};
      const bool rotates = info.site == Site::kQueriesAndKeys;
      if (rotates && length >= 512) with.goal = 1 / 1.05;
      shape.scheme = std::string(info.name);
      tables.AddRow(shape.Labels(),
                    [=] { return MeasureAgainst(shape, with, seconds); });
    }
  }
}

// The schemes that an option is measured with. Ids only affect schemes; masks
// can prevent the queries of a block from sharing a bias reference.
std::vector<std::string> SchemesFor(const std::string& option) {
  if (option == "ids" || option == "packed")
    return {"rope", "t5_bias", "alibi"};
  if (option == "bool_mask" || option == "additive_mask") {
    return {"none", "alibi"};
  }
  return {"none"};
}

// Slowdown by types and options. A window excludes most of the work, and so
// does tile skipping with ALiBi.
void AddOptions(double seconds, Tables& tables) {
  const Column times{"x plain", "x plain", Format::kRatio};
  tables.Add({"Option",
              "Types and options, relative to float32 without options",
              kLabels,
              {kTime, kSpeed, kPeak, times}});
  for (const std::string option : kOptions) {
    for (const std::string& scheme : SchemesFor(option)) {
      auto shape = AttentionShape::Square(1024, 64, scheme == "alibi");
      shape.scheme = scheme;
      Comparison with{.other = shape, .times = times};
      shape.option = option;
      tables.AddRow(shape.Labels(),
                    [=] { return MeasureAgainst(shape, with, seconds); });
    }
  }
}

void AddHeadSizes(double seconds, Tables& tables) {
  const Column times{"x D64", "x D64", Format::kRatio};
  tables.Add({"HeadSize",
              "Other head dimensions, relative to the GFLOP/s of D = 64",
              kLabels,
              {kTime, kSpeed, kPeak, kShare, times, kTimesEigen}});
  for (const int64_t dim : {80, 96, 128, 256}) {
    const auto shape = AttentionShape::Square(2048, dim);
    const Comparison with{.other = AttentionShape::Square(2048),
                          .times = times,
                          .goal = 0.85,
                          .with_eigen = true};
    tables.AddRow(shape.Labels(),
                  [=] { return MeasureAgainst(shape, with, seconds); });
  }
}

void AddTwoThreads(double seconds, Tables& tables) {
  const Column times{"x one thread", "x one thread", Format::kRatio};
  tables.Add({"Threads",
              "Two threads relative to one, for the kernel and for the peak",
              kLabels,
              {kTime,
               kSpeed,
               kPeak,
               kShare,
               times,
               {"peak gain", "peak ratio", Format::kRatio}}});
  for (const bool causal : {false, true}) {
    for (const int64_t length : {128, 512, 2048, 4096}) {
      auto shape = AttentionShape::Square(length, 64, causal);
      const Comparison with{
          .other = shape, .times = times, .goal = length >= 512 ? 1.85 : 0};
      shape.threads = 2;
      tables.AddRow(shape.Labels(),
                    [=] { return MeasureAgainst(shape, with, seconds); });
    }
  }
}

void AddGrowth(const Settings& settings, Tables& tables) {
  const Column times{"x none", "x none", Format::kRatio};
  tables.Add({"Growth",
              "ALiBi by sequence length, relative to no bias",
              kLabels,
              {kTime,
               {"none", "other seconds", Format::kTime},
               kSpeed,
               times,
               kScratch}});
  std::vector<int64_t> lengths = {2048, 4096, 8192};
  if (settings.with_long) lengths.insert(lengths.end(), {16384, 32768});
  for (const int64_t length : lengths) {
    auto shape = AttentionShape::Square(length, 64, /*causal=*/true);
    shape.threads = 2;
    const Comparison with{
        .other = shape, .times = times, .goal = length == 32768 ? 6.0 : 0};
    shape.scheme = "alibi";
    tables.AddRow(shape.Labels(), [=] {
      return MeasureAgainst(shape, with, settings.seconds);
    });
  }
}

// Measures the bandwidth of one query and of reading keys and values once.
absl::StatusOr<Counters> MeasureOneQuery(const AttentionShape& shape,
                                         double seconds) {
  LOCUS_ASSIGN_OR_RETURN(const auto ours, AttentionCase::Create(shape));
  LOCUS_RETURN_IF_ERROR(ours->CheckAgreement());
  const int64_t bytes = shape.KeyAndValueBytes();
  Contender reading = ours->Ours();
  reading.work = static_cast<double>(bytes);
  const SideBySide measured(
      {reading, MemoryRead(ours->pool(), bytes), ours->Eigen()}, seconds);
  return Counters{
      {kSeconds, measured.Seconds(0)},
      {"GB/s", measured.Rate(0) / kGiga},
      {"read GB/s", measured.Rate(1) / kGiga},
      {"of reading", measured.Ratio(0, 1)},
      {"of reading goal", shape.key_count >= 32768 ? 0.7 : 0},
      {kTimesEigen.counter, measured.Seconds(2) / measured.Seconds(0)},
      {kTimesEigen.counter + " goal", 1}};
}

void AddOneQuery(double seconds, Tables& tables) {
  tables.Add({"OneQuery",
              "One query, relative to reading keys and values once",
              kLabels,
              {kTime,
               {"GB/s", "GB/s"},
               {"read", "read GB/s"},
               {"of reading", "of reading", Format::kPercent},
               kTimesEigen}});
  for (const int64_t length : {128, 2048, 32768}) {
    for (const int64_t dim : {64, 128}) {
      AttentionShape shape = AttentionShape::Square(length, dim);
      shape.query_count = 1;
      tables.AddRow(shape.Labels(), [shape, seconds] {
        return MeasureOneQuery(shape, seconds);
      });
    }
  }
}

absl::StatusOr<Counters> CountScratch(const AttentionShape& shape) {
  LOCUS_ASSIGN_OR_RETURN(const int64_t bytes, ScratchBytes(shape));
  return Counters{{kScratch.counter, static_cast<double>(bytes) / kMebibyte}};
}

void AddScratch(Tables& tables) {
  tables.Add(
      {"Scratch",
       "Memory in addition to input and output; the goal is below 64 MiB",
       kLabels,
       {kScratch}});
  for (const int threads : {1, 2}) {
    for (const SchemeInfo& info : AllSchemes()) {
      if (info.site == Site::kEmbeddings) continue;
      auto shape = AttentionShape::Square(32768, 64, /*causal=*/true);
      shape.scheme = std::string(info.name);
      shape.threads = threads;
      tables.AddRow(shape.Labels(), [shape] { return CountScratch(shape); });
    }
  }
}

void AddAll(const Settings& settings, Tables& tables) {
  AddAttention(settings.seconds, tables);
  AddAvx2(settings.seconds, tables);
  AddSchemes(settings.seconds, tables);
  AddOptions(settings.seconds, tables);
  AddHeadSizes(settings.seconds, tables);
  AddTwoThreads(settings.seconds, tables);
  AddGrowth(settings, tables);
  AddOneQuery(settings.seconds, tables);
  AddScratch(tables);
}

}  // namespace
}  // namespace locus::bench

int main(int argc, char** argv) {
  return locus::bench::RunTables(argc, argv, locus::bench::AddAll);
}
