// What the machine, or the container on it, grants this process.
#pragma once

#include <cstdint>
#include <string>

namespace locus::server {

// Processors: the least of the machine's, the affinity mask and the cgroup's
// quota (rounded up). At least 1.
int AvailableCpus();

// Bytes of memory: the least of the machine's and the cgroups'.
int64_t AvailableMemoryBytes();

// The same for cgroup trees elsewhere, so that it can be tested: `proc_cgroup`
// is the content of /proc/self/cgroup, `root` what is mounted at
// /sys/fs/cgroup. The largest int64 (or the largest double) if there is no
// limit.
int64_t CgroupMemoryLimit(const std::string& proc_cgroup,
                          const std::string& root);
double CgroupCpuLimit(const std::string& proc_cgroup, const std::string& root);

}  // namespace locus::server
