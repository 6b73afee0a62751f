#include "tests/bench/machine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <thread>

#include <benchmark/benchmark.h>

#include "absl/strings/str_cat.h"
#include "core/simd/aligned_buffer.h"
#include "core/simd/gemm.h"

// The targets of core/simd/simd.h, which the kernels are compiled for.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/machine.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace locus::bench {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

// Independent chains of sums: enough to hide a latency of 4 cycles on two FMA
// units, and few enough for 16 registers.
constexpr int kChains = 12;

float Reduce(const Vector (&sums)[kChains]) {
  Vector all = sums[0];
  for (int c = 1; c < kChains; ++c) all = hn::Add(all, sums[c]);
  return hn::GetLane(hn::SumOfLanes(Tag(), all));
}

}  // namespace

// Floating-point operations in one step of MultiplyAdd().
double FlopsPerStep() { return 2.0 * kChains * hn::Lanes(Tag()); }

// Runs `steps` steps of kChains fused multiply-adds on registers.
float MultiplyAdd(int64_t steps, float factor) {
  const Vector x = hn::Set(Tag(), factor);
  Vector sums[kChains];
  for (Vector& sum : sums) sum = x;
  for (int64_t i = 0; i < steps; ++i) {
    for (Vector& sum : sums) sum = hn::MulAdd(x, x, sum);
  }
  return Reduce(sums);
}

// Reads `count` floats, a multiple of four vectors, and returns their sum.
float Read(const float* from, int64_t count) {
  const int64_t lanes = hn::Lanes(Tag());
  Vector sums[kChains];
  for (Vector& sum : sums) sum = hn::Zero(Tag());
  for (int64_t i = 0; i < count; i += 4 * lanes) {
    for (int c = 0; c < 4; ++c) {
      sums[c] = hn::Add(sums[c], hn::Load(Tag(), from + i + c * lanes));
    }
  }
  return Reduce(sums);
}

// Writes `count` floats, a multiple of a vector, with stores that bypass the
// caches.
void Stream(float value, float* to, int64_t count) {
  const int64_t lanes = hn::Lanes(Tag());
  const Vector x = hn::Set(Tag(), value);
  for (int64_t i = 0; i < count; i += lanes) hn::Stream(x, Tag(), to + i);
  hwy::FlushStream();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus::bench {

HWY_EXPORT(FlopsPerStep);
HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(Read);
HWY_EXPORT(Stream);

namespace {

// Allocates memory and writes to it, so that its pages are mapped.
std::shared_ptr<AlignedBuffer<float>> MappedBuffer(int64_t count) {
  auto buffer = std::make_shared<AlignedBuffer<float>>(count);
  std::memset(buffer->get(), 1, count * sizeof(float));
  return buffer;
}

// Number of floats that each thread processes of `bytes` bytes: a multiple of
// four vectors of any instruction set.
int64_t FloatsPerThread(int64_t bytes, const ThreadPool& pool) {
  constexpr int64_t kStep = 256;
  return bytes / pool.thread_count() / kStep * kStep /
         static_cast<int64_t>(sizeof(float));
}

void ChooseTargets(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

InstructionSetLimit::InstructionSetLimit(absl::string_view name)
    : before_(hwy::SupportedTargets()) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    // Better targets have lower bits.
    if (name == hwy::TargetName(target)) ChooseTargets(before_ & -target);
  }
}

InstructionSetLimit::~InstructionSetLimit() { ChooseTargets(before_); }

std::vector<std::string> InstructionSets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

std::string DescribeMachine() {
  std::string model = "unknown processor";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      model = line.substr(colon + 2);
      break;
    }
  }
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  std::array<char, 32> date;
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M UTC",
                gmtime_r(&now, &utc));
  return absl::StrCat(model, ", ", std::thread::hardware_concurrency(),
                      " cores, ", InstructionSet(), ", ", date.data());
}

Contender FmaPeak(ThreadPool& pool) {
  // Each thread runs for milliseconds, so that waking it up is negligible.
  constexpr int64_t kSteps = 1 << 16;
  const int64_t pieces = 8 * pool.thread_count();
  const auto piece = [](int64_t) {
    benchmark::DoNotOptimize(HWY_DYNAMIC_DISPATCH(MultiplyAdd)(kSteps, 1e-3F));
  };
  return {[&pool, pieces, piece] { pool.ParallelFor(pieces, piece); },
          static_cast<double>(pieces * kSteps) *
              HWY_DYNAMIC_DISPATCH(FlopsPerStep)()};
}

Contender MemoryCopy(ThreadPool& pool, int64_t bytes) {
  // Some C libraries copy larger pieces by another method, at half the speed.
  static constexpr int64_t kPiece = (int64_t{64} << 20) / sizeof(float);
  const int64_t part = FloatsPerThread(bytes, pool);
  const auto from = MappedBuffer(part * pool.thread_count());
  const auto to = MappedBuffer(part * pool.thread_count());
  return {[&pool, from, to, part] {
            pool.ParallelFor(pool.thread_count(), [&](int64_t i) {
              for (int64_t at = 0; at < part; at += kPiece) {
                std::memcpy(to->get() + i * part + at,
                            from->get() + i * part + at,
                            std::min(kPiece, part - at) * sizeof(float));
              }
            });
          },
          2.0 * static_cast<double>(bytes)};
}

Contender StreamingWrite(ThreadPool& pool, int64_t bytes) {
  const int64_t part = FloatsPerThread(bytes, pool);
  const auto to = MappedBuffer(part * pool.thread_count());
  return {[&pool, to, part] {
            pool.ParallelFor(pool.thread_count(), [&](int64_t i) {
              HWY_DYNAMIC_DISPATCH(Stream)(1, to->get() + i * part, part);
            });
          },
          static_cast<double>(bytes)};
}

Contender MemoryRead(ThreadPool& pool, int64_t bytes) {
  const int64_t part = FloatsPerThread(bytes, pool);
  const auto from = MappedBuffer(part * pool.thread_count());
  return {[&pool, from, part] {
            pool.ParallelFor(pool.thread_count(), [&](int64_t i) {
              benchmark::DoNotOptimize(
                  HWY_DYNAMIC_DISPATCH(Read)(from->get() + i * part, part));
            });
          },
          static_cast<double>(bytes)};
}

}  // namespace locus::bench
#endif  // HWY_ONCE
