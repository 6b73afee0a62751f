// Limits of this machine that results are compared with: FMA peak and memory
// bandwidth. Each limit is a Contender, so that it is measured in turn with the
// code under test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/parallel/thread_pool.h"
#include "tests/bench/side_by_side.h"

namespace locus::bench {

// Limits run-time dispatch to an instruction set and those below it, for the
// lifetime of the object. Not thread-safe.
class InstructionSetLimit {
 public:
  // `name` must be one of InstructionSets().
  explicit InstructionSetLimit(absl::string_view name);
  ~InstructionSetLimit();
  InstructionSetLimit(const InstructionSetLimit&) = delete;
  InstructionSetLimit& operator=(const InstructionSetLimit&) = delete;

 private:
  const int64_t before_;
};

// The instruction sets that the kernels are compiled for and this machine
// supports, such as "AVX2"; the best one comes first.
std::vector<std::string> InstructionSets();

// Describes the processor, its cores and the date.
std::string DescribeMachine();

// Multiply-adds on registers, fused if the instruction set has FMA. Work is in
// flops. The pool must outlive the contender.
Contender FmaPeak(ThreadPool& pool);
// memcpy() of `bytes` bytes, each of which counts as read and written. The pool
// must outlive the contender.
Contender MemoryCopy(ThreadPool& pool, int64_t bytes);
// Writes `bytes` bytes with stores that bypass the caches. The pool must
// outlive the contender.
Contender StreamingWrite(ThreadPool& pool, int64_t bytes);
// Reads `bytes` bytes once. The pool must outlive the contender.
Contender MemoryRead(ThreadPool& pool, int64_t bytes);

}  // namespace locus::bench
