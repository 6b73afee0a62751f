#include "server/net/file_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "tests/support/temporary_folder.h"

namespace locus::server {
namespace {

using ::testing::HasSubstr;

class ReloadPolicyTest : public ::testing::Test {
 protected:
  // Observes a state 250 ms after the previous one.
  bool Observe(const std::string& state) {
    now_ += std::chrono::milliseconds(250);
    return policy_.ShouldReload(state, now_);
  }

  Clock::time_point now_;
  ReloadPolicy policy_{"old"};
};

TEST_F(ReloadPolicyTest, DoesNotReloadTheInitialState) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Observe("old"));
}

TEST_F(ReloadPolicyTest, ReloadsOnceAChangeHasSettled) {
  EXPECT_FALSE(Observe("half"));
  EXPECT_FALSE(Observe("new"));
  EXPECT_TRUE(Observe("new"));
  policy_.OnReloaded();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Observe("new"));
}

TEST_F(ReloadPolicyTest, DoesNotReloadAChangeThatWasUndone) {
  EXPECT_FALSE(Observe("new"));
  EXPECT_FALSE(Observe("old"));
  EXPECT_FALSE(Observe("old"));
}

TEST_F(ReloadPolicyTest, RetriesAFailedReloadAfterTheInterval) {
  EXPECT_FALSE(Observe("new"));
  EXPECT_TRUE(Observe("new"));
  const Clock::time_point retry = now_ + ReloadPolicy::kRetryInterval;
  EXPECT_FALSE(
      policy_.ShouldReload("new", retry - std::chrono::milliseconds(1)));
  EXPECT_TRUE(policy_.ShouldReload("new", retry));
}

TEST_F(ReloadPolicyTest, RetriesAFailedReloadAfterAnotherChange) {
  EXPECT_FALSE(Observe("broken"));
  EXPECT_TRUE(Observe("broken"));
  EXPECT_FALSE(Observe("repaired"));
  EXPECT_TRUE(Observe("repaired"));
}

// Records the content of a file at each call of the callback.
class Recorder {
 public:
  explicit Recorder(std::string path) : path_(std::move(path)) {}

  bool OnChange() {
    const auto content = ReadSmallFile(path_);
    const std::lock_guard lock(mutex_);
    last_ = content.ok() ? *content : "";
    changed_.notify_all();
    return content.ok();
  }

  // Waits until the last recorded content is `expected`; false after ten
  // seconds.
  bool Await(const std::string& expected) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10),
                             [&] { return last_ == expected; });
  }

 private:
  const std::string path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string last_;  // guarded by mutex_
};

class FileWatcherTest : public ::testing::Test {
 protected:
  // Replaces a file in one step, as rename(2) does.
  void Replace(const std::string& name, const std::string& content) const {
    std::filesystem::rename(folder_.Write("temporary", content),
                            folder_.Path(name));
  }

  const TemporaryFolder folder_;
};

constexpr std::chrono::milliseconds kFast{1};

TEST_F(FileWatcherTest, ReportsReplacedFiles) {
  const std::string path = folder_.Write("file", "old");
  Recorder recorder(path);
  const FileWatcher watcher(
      {path}, [&] { return recorder.OnChange(); }, kFast);
  Replace("file", "new");
  EXPECT_TRUE(recorder.Await("new"));
  Replace("file", "newer");
  EXPECT_TRUE(recorder.Await("newer"));
}

TEST_F(FileWatcherTest, ReportsFilesThatAppear) {
  const std::string path = folder_.Path("file");
  Recorder recorder(path);
  const FileWatcher watcher(
      {path}, [&] { return recorder.OnChange(); }, kFast);
  Replace("file", "new");
  EXPECT_TRUE(recorder.Await("new"));
}

// Kubernetes replaces mounted secrets in this way.
TEST_F(FileWatcherTest, FollowsSymbolicLinks) {
  std::filesystem::create_directory(folder_.Path("v1"));
  std::filesystem::create_directory(folder_.Path("v2"));
  folder_.Write("v1/file", "old");
  folder_.Write("v2/file", "new");
  std::filesystem::create_symlink("v1", folder_.Path("data"));
  const std::string path = folder_.Path("data/file");
  Recorder recorder(path);
  const FileWatcher watcher(
      {path}, [&] { return recorder.OnChange(); }, kFast);
  std::filesystem::create_symlink("v2", folder_.Path("next"));
  std::filesystem::rename(folder_.Path("next"), folder_.Path("data"));
  EXPECT_TRUE(recorder.Await("new"));
}

TEST_F(FileWatcherTest, StopsWithoutWaitingForThePollInterval) {
  const auto start = Clock::now();
  {
    const FileWatcher watcher(
        {}, [] { return true; }, std::chrono::hours(1));
  }
  EXPECT_LT(Clock::now() - start, std::chrono::minutes(1));
}

TEST(ReadSmallFileTest, ReadsFilesUpToOneMebibyte) {
  const TemporaryFolder folder;
  const std::string content(1 << 20, 'x');
  const auto read = ReadSmallFile(folder.Write("max", content));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, content);
  const auto larger = ReadSmallFile(folder.Write("larger", content + "x"));
  ASSERT_FALSE(larger.ok());
  EXPECT_THAT(std::string(larger.status().message()),
              HasSubstr("larger than 1 MiB"));
}

TEST(ReadSmallFileTest, NamesTheFileAndTheReason) {
  EXPECT_EQ(ReadSmallFile("/nonexistent/file").status().message(),
            "cannot read /nonexistent/file: No such file or directory");
  EXPECT_EQ(ReadSmallFile("/").status().message(),
            "cannot read /: Is a directory");
}

}  // namespace
}  // namespace locus::server
