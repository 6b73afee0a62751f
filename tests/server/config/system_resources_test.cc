#include "server/config/system_resources.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "tests/support/temporary_folder.h"
#include "tests/support/thread_limit.h"

namespace locus::server {
namespace {

namespace fs = std::filesystem;

class CgroupTest : public testing::Test {
 protected:
  CgroupTest() : root_(folder_.Path("cgroup")) {}

  void Write(const std::string& path, const std::string& text) {
    const fs::path file = fs::path(root_) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  const TemporaryFolder folder_;
  const std::string root_;
};

TEST_F(CgroupTest, MinimumOfAllAncestorsApplies) {
  Write("pod/box/memory.max", "max\n");
  Write("pod/memory.max", "1000\n");
  Write("memory.max", "2000\n");
  EXPECT_EQ(CgroupMemoryLimit("0::/pod/box\n", root_), 1000);
}

TEST_F(CgroupTest, ReadsVersion1) {
  Write("memory/box/memory.limit_in_bytes", "3000\n");
  Write("cpu/box/cpu.cfs_quota_us", "150000\n");
  Write("cpu/box/cpu.cfs_period_us", "100000\n");
  const std::string cgroup = "4:memory:/box\n3:cpu,cpuacct:/box\n";
  EXPECT_EQ(CgroupMemoryLimit(cgroup, root_), 3000);
  EXPECT_EQ(CgroupCpuLimit(cgroup, root_), 1.5);
}

TEST_F(CgroupTest, ReadsQuotaOfVersion2) {
  Write("box/cpu.max", "250000 100000\n");
  EXPECT_EQ(CgroupCpuLimit("0::/box\n", root_), 2.5);
  Write("box/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuLimit("0::/box\n", root_),
            std::numeric_limits<double>::max());
}

TEST_F(CgroupTest, MissingFilesMeanNoLimit) {
  EXPECT_EQ(CgroupMemoryLimit("", root_), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(CgroupMemoryLimit("0::/x\nnonsense", root_),
            std::numeric_limits<int64_t>::max());
}

TEST(SystemResourcesTest, CpusFollowTheAffinityMask) {
  int cpus = 0;
  std::thread pinned([&] {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
    cpus = AvailableCpus();
  });
  pinned.join();
  EXPECT_EQ(cpus, 1);
}

TEST(SystemResourcesTest, MemoryIsAtMostThatOfTheMachine) {
  const int64_t physical =
      int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  EXPECT_GT(AvailableMemoryBytes(), 1 << 20);
  EXPECT_LE(AvailableMemoryBytes(), physical);
}

TEST(SystemResourcesTest, ConnectionsFollowTheDescriptorLimit) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GE(before.rlim_cur, 1000u);
  rlimit lower = before;
  lower.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  const int max = MaxConnections();
  const int default_max = DefaultMaxConnections();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(max, 308);  // two descriptors each, and 384 for other uses
  EXPECT_EQ(default_max, 308);
  EXPECT_EQ(DescriptorsFor(308), 1000);
}

TEST(SystemResourcesTest, ThreadsAreAvailable) {
  EXPECT_EQ(CheckThreadsAvailable(0), absl::OkStatus());
  EXPECT_EQ(CheckThreadsAvailable(20), absl::OkStatus());
}

// The check creates all threads at the same time.
TEST(SystemResourcesTest, ThreadCheckFindsTheLimit) {
  if (!kCanLimitThreads) GTEST_SKIP() << "sanitizers need address space";
  EXPECT_EXIT(
      {
        LimitThreads(8);
        if (!CheckThreadsAvailable(8).ok()) _exit(1);
        std::fputs(CheckThreadsAvailable(16).ToString().c_str(), stderr);
        _exit(0);
      },
      testing::ExitedWithCode(0),
      "cannot create a thread: Resource temporarily unavailable; raise the "
      "limit of processes .ulimit -u. or lower --threads");
}

// Runs this process as a user without other processes, with a limit of two.
[[nodiscard]] bool LimitProcessesToTwo() {
  const rlimit limit = {.rlim_cur = 2, .rlim_max = 2};
  return setrlimit(RLIMIT_NPROC, &limit) == 0 &&
         setuid(static_cast<uid_t>(70'000 + getpid())) == 0;
}

// The threads of a check no longer count towards the limit of processes once
// the check returns.
TEST(SystemResourcesTest, ThreadChecksMayFollowOneAnother) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  EXPECT_EXIT(
      {
        if (!LimitProcessesToTwo()) _exit(1);
        for (int i = 0; i < 1000; ++i) {
          if (!CheckThreadsAvailable(1).ok()) _exit(2);
        }
        _exit(CheckThreadsAvailable(2).ok() ? 3 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace locus::server
