// What this machine can do at most: the limits that results are shares of. Each
// is a contender like any other, so that it is measured in turn with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/parallel/thread_pool.h"
#include "tests/bench/side_by_side.h"

namespace locus::bench {

// While it lives, everything that is compiled for several instruction sets runs
// as on a machine that knows nothing better than the one of that name.
class InstructionSetLimit {
 public:
  // The name must be one of InstructionSets().
  explicit InstructionSetLimit(absl::string_view name);
  ~InstructionSetLimit();
  InstructionSetLimit(const InstructionSetLimit&) = delete;
  InstructionSetLimit& operator=(const InstructionSetLimit&) = delete;

 private:
  const int64_t before_;
};

// Those that the kernels are compiled for and this machine has, such as "AVX2";
// the best comes first.
std::vector<std::string> InstructionSets();

// The processor, its cores and the date, for people.
std::string DescribeMachine();

// The pool has to outlive what these return.
//
// Multiplications and additions, fused where there is such an instruction,
// on registers alone. Work is in flops.
Contender FmaPeak(ThreadPool& pool);
// The C library's copy of so many bytes; work counts each as read and written.
Contender MemoryCopy(ThreadPool& pool, int64_t bytes);
// Stores that bypass the caches.
Contender StreamingWrite(ThreadPool& pool, int64_t bytes);
// Loads, each byte once.
Contender MemoryRead(ThreadPool& pool, int64_t bytes);

}  // namespace locus::bench
