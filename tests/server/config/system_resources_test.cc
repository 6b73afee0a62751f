#include "server/config/system_resources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

namespace locus::server {
namespace {

namespace fs = std::filesystem;

class MachineTest : public testing::Test {
 protected:
  MachineTest() : root_(testing::TempDir() + "/locus_cgroup") {
    fs::remove_all(root_);
  }
  ~MachineTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const fs::path file = fs::path(root_) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  const std::string root_;
};

TEST_F(MachineTest, TheTightestLimitOnTheWayUpBinds) {
  Write("pod/box/memory.max", "max\n");
  Write("pod/memory.max", "1000\n");
  Write("memory.max", "2000\n");
  EXPECT_EQ(CgroupMemoryLimit("0::/pod/box\n", root_), 1000);
}

TEST_F(MachineTest, ReadsVersionOne) {
  Write("memory/box/memory.limit_in_bytes", "3000\n");
  Write("cpu/box/cpu.cfs_quota_us", "150000\n");
  Write("cpu/box/cpu.cfs_period_us", "100000\n");
  const std::string cgroup = "4:memory:/box\n3:cpu,cpuacct:/box\n";
  EXPECT_EQ(CgroupMemoryLimit(cgroup, root_), 3000);
  EXPECT_EQ(CgroupCpuLimit(cgroup, root_), 1.5);
}

TEST_F(MachineTest, ReadsTheQuotaOfVersionTwo) {
  Write("box/cpu.max", "250000 100000\n");
  EXPECT_EQ(CgroupCpuLimit("0::/box\n", root_), 2.5);
  Write("box/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuLimit("0::/box\n", root_),
            std::numeric_limits<double>::max());
}

TEST_F(MachineTest, NothingThereIsNoLimit) {
  EXPECT_EQ(CgroupMemoryLimit("", root_), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(CgroupMemoryLimit("0::/x\nnonsense", root_),
            std::numeric_limits<int64_t>::max());
}

TEST_F(MachineTest, ThisMachineHasSomething) {
  EXPECT_GE(AvailableCpus(), 1);
  EXPECT_GT(AvailableMemoryBytes(), 1 << 20);
}

}  // namespace
}  // namespace locus::server
