// Processors, memory, file descriptors and threads that are available to this
// process, including the limits of its cgroups.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "absl/status/status.h"

namespace locus::server {

// Returns the number of processors that this process may use: the minimum of
// the machine's processors, the affinity mask of the calling thread, and the
// cgroup's CPU quota (rounded up). At least 1.
int AvailableCpus();

// Returns the minimum of the machine's physical memory and the cgroup's limit.
int64_t AvailableMemoryBytes();

// Returns the number of connections for which the process has file descriptors
// (ulimit -n). At least 1.
int MaxConnections();
// Returns the number of file descriptors that this many connections need.
int DescriptorsFor(int connections);
// Returns the default of --max-connections: MaxConnections(), at most 10,000.
int DefaultMaxConnections();

// Returns OK if `count` more threads than now can exist at the same time, else
// ThreadCreationError(). Creates the threads and joins them. gRPC creates
// threads while it runs, and neither reports nor survives a failure: calls and
// the shutdown would hang. A check at the start finds a limit that is too low.
absl::Status CheckThreadsAvailable(int count);

// Returns RESOURCE_EXHAUSTED for the exception of std::thread's constructor,
// with the limits to change.
absl::Status ThreadCreationError(const std::system_error& error);

// Returns the memory limit in bytes of a cgroup hierarchy (version 1 or 2), or
// the largest int64 if there is none. `proc_cgroup` is the content of
// /proc/self/cgroup, and `root` the directory where cgroups are mounted,
// usually /sys/fs/cgroup.
int64_t CgroupMemoryLimit(const std::string& proc_cgroup,
                          const std::string& root);
// Returns the CPU quota of a cgroup hierarchy as a number of processors, or the
// largest double if there is none. Arguments as for CgroupMemoryLimit().
double CgroupCpuLimit(const std::string& proc_cgroup, const std::string& root);

}  // namespace locus::server
