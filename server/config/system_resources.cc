#include "server/config/system_resources.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <latch>
#include <limits>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/base/clock.h"

namespace locus::server {
namespace {

constexpr char kProcCgroup[] = "/proc/self/cgroup";
constexpr char kCgroupRoot[] = "/sys/fs/cgroup";

// File descriptors reserved for files, the HTTP port and gRPC itself. Each
// connection takes two more.
constexpr int kReservedDescriptors = 384;
constexpr int kDefaultConnectionLimit = 10'000;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the directories of a cgroup controller that apply to this process,
// innermost first. The limits of all of them apply.
std::vector<std::string> CgroupDirectories(const std::string& proc_cgroup,
                                           const std::string& root,
                                           absl::string_view controller) {
  std::vector<std::string> directories;
  for (const absl::string_view line : absl::StrSplit(proc_cgroup, '\n')) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    std::string base;
    if (parts[1].empty()) {  // cgroup version 2
      base = root;
    } else {
      const std::vector<std::string> names = absl::StrSplit(parts[1], ',');
      if (std::find(names.begin(), names.end(), controller) == names.end()) {
        continue;
      }
      base = root + "/" + std::string(controller);
    }
    std::string path = parts[2];
    while (!path.empty() && path != "/") {
      directories.push_back(base + path);
      path.resize(path.rfind('/'));
    }
    // Inside a container the path is often that of the host, and the limit is
    // found at the root of the mount.
    directories.push_back(base);
  }
  return directories;
}

// Reads a number from a file; the largest int64 if there is no limit.
int64_t ReadLimit(const std::string& path) {
  int64_t limit = 0;
  // Version 2 writes "max" if there is no limit, version 1 a very large number.
  if (!absl::SimpleAtoi(ReadFile(path), &limit) || limit <= 0) {
    return std::numeric_limits<int64_t>::max();
  }
  return limit;
}

// Reads a cpu.max file, "QUOTA PERIOD", as a number of processors; the largest
// double if there is no limit.
double ReadCpuMax(const std::string& path) {
  const std::vector<std::string> parts =
      absl::StrSplit(ReadFile(path), absl::ByAnyChar(" \n"));
  double quota = 0, period = 0;
  if (parts.size() < 2 || !absl::SimpleAtod(parts[0], &quota) ||
      !absl::SimpleAtod(parts[1], &period) || quota <= 0 || period <= 0) {
    return std::numeric_limits<double>::max();
  }
  return quota / period;
}

// A thread that exists until Join().
class ProbeThread {
 public:
  ProbeThread()
      : thread_([this] {
          id_ = static_cast<pid_t>(syscall(SYS_gettid));
          end_.wait();
        }) {}

  // Waits until the thread no longer counts towards the limits of the process.
  // That is a moment later than std::thread::join() returns.
  void Join() {
    constexpr std::chrono::seconds kMaxWait(1);
    end_.count_down();
    thread_.join();
    const auto end = Clock::now() + kMaxWait;
    while (syscall(SYS_tgkill, getpid(), id_.load(), 0) == 0 &&
           Clock::now() < end) {
      std::this_thread::yield();
    }
  }

 private:
  std::latch end_{1};
  std::atomic<pid_t> id_ = 0;
  // Declared last, so that its thread starts when all other members exist.
  std::thread thread_;
};

}  // namespace

absl::Status ThreadCreationError(const std::system_error& error) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot create a thread: ", error.code().message(),
      "; raise the limit of processes (ulimit -u) or lower --threads"));
}

absl::Status CheckThreadsAvailable(int count) {
  absl::Status status;
  std::vector<std::unique_ptr<ProbeThread>> threads;
  try {
    for (int i = 0; i < count; ++i) {
      threads.push_back(std::make_unique<ProbeThread>());
    }
  } catch (const std::system_error& error) {
    status = ThreadCreationError(error);
  }
  for (const auto& thread : threads) thread->Join();
  return status;
}

int64_t CgroupMemoryLimit(const std::string& proc_cgroup,
                          const std::string& root) {
  int64_t limit = std::numeric_limits<int64_t>::max();
  for (const std::string& directory :
       CgroupDirectories(proc_cgroup, root, "memory")) {
    limit = std::min(limit, ReadLimit(directory + "/memory.max"));
    limit = std::min(limit, ReadLimit(directory + "/memory.limit_in_bytes"));
  }
  return limit;
}

double CgroupCpuLimit(const std::string& proc_cgroup, const std::string& root) {
  double limit = std::numeric_limits<double>::max();
  for (const std::string& directory :
       CgroupDirectories(proc_cgroup, root, "cpu")) {
    limit = std::min(limit, ReadCpuMax(directory + "/cpu.max"));
    const int64_t quota = ReadLimit(directory + "/cpu.cfs_quota_us");
    const int64_t period = ReadLimit(directory + "/cpu.cfs_period_us");
    if (quota == std::numeric_limits<int64_t>::max()) continue;
    limit = std::min(limit,
                     static_cast<double>(quota) / static_cast<double>(period));
  }
  return limit;
}

int AvailableCpus() {
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    cpus = std::min(cpus, CPU_COUNT(&mask));
  }
  const double quota = CgroupCpuLimit(ReadFile(kProcCgroup), kCgroupRoot);
  if (quota < cpus) cpus = static_cast<int>(std::ceil(quota));
  return std::max(1, cpus);
}

int64_t AvailableMemoryBytes() {
  const int64_t physical =
      int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min(physical,
                  CgroupMemoryLimit(ReadFile(kProcCgroup), kCgroupRoot));
}

int MaxConnections() {
  constexpr rlim_t kMaxDescriptors = 4'000'000;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kDefaultConnectionLimit;
  const auto descriptors =
      static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMaxDescriptors));
  return std::max(1, (descriptors - kReservedDescriptors) / 2);
}

int DescriptorsFor(int connections) {
  return kReservedDescriptors + 2 * connections;
}

int DefaultMaxConnections() {
  return std::min(MaxConnections(), kDefaultConnectionLimit);
}

}  // namespace locus::server
