// How much freed memory the process keeps for the next call.
//
// By itself glibc gives the memory of every large message back to the system
// and takes it anew for the next one, a page fault for each 4 KiB: for gRPC
// alone that doubles the time of 32 MiB (see core/base/large_block.h for what
// faults cost). So freed memory stays, but no more than kKeptBytes of it once
// calls are done. Results and large inputs do not count: they lie in huge
// pages and go back at once.
#pragma once

#include <cstdint>

namespace locus::server {

inline constexpr int64_t kKeptBytes = int64_t{256} << 20;

// For the whole process, at its start.
void KeepFreedMemory();

// Gives freed memory back if the process holds more than kKeptBytes beyond
// `used_bytes`.
void TrimFreedMemory(int64_t used_bytes);

}  // namespace locus::server
