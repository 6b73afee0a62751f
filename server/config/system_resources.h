// Processors, memory and file descriptors that are available to this process,
// including the limits of its cgroups.
#pragma once

#include <cstdint>
#include <string>

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
// Returns the default of --max-connections: MaxConnections(), at most 10,000.
int DefaultMaxConnections();

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
