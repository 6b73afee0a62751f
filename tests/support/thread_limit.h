// Makes the creation of threads fail, for tests.
#pragma once

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace locus {

// Whether LimitThreads() works: sanitizers end the process if it has no address
// space left.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCanLimitThreads = false;
#else
inline constexpr bool kCanLimitThreads = true;
#endif

// Lets this process create about `count` more threads, for the rest of its
// life: call it in a child process, such as that of EXPECT_EXIT(). Limits the
// address space rather than the number of processes, which has no limit for the
// user root.
inline void LimitThreads(int count) {
  constexpr rlim_t kStackBytes = rlim_t{64} << 20;
  constexpr rlim_t kHeapBytes = rlim_t{32} << 20;
  mallopt(M_ARENA_MAX, 1);  // a thread's own arena would take address space
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) +
                       kHeapBytes + static_cast<rlim_t>(count) * kStackBytes;
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  setrlimit(RLIMIT_AS, &limit);
}

}  // namespace locus
