#include "client/io/file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "client/io/temporary_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace {

std::atomic<int> sync_count{0};
// The error of fsync(); 0 if it succeeds.
std::atomic<int> sync_error{0};

}  // namespace

// Replaces the function of the C library in this program. A test cannot crash
// the machine to see whether a file is durable.
extern "C" int fsync(int /*descriptor*/) {
  ++sync_count;
  errno = sync_error;
  return sync_error == 0 ? 0 : -1;
}

namespace locus::client {
namespace {

using ::testing::HasSubstr;

// Limits the size of files, so that writing fails in the middle of a file.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_;
};

TEST(FileTest, WritesHeadAndBody) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteFile(folder.Path("a"), "head", "body").ok());
  EXPECT_EQ(folder.Read("a"), "headbody");
  EXPECT_EQ(folder.FileCount(), 1);
}

TEST(FileTest, KeepsModeOfReplacedFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "old");
  chmod(path.c_str(), 0600);
  ASSERT_TRUE(WriteFile(path, "new", "").ok());
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(folder.Read("a"), "new");
}

TEST(FileTest, CheckWritableChangesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "old");
  for (const std::string& good :
       {path, folder.Path("b"), std::string("-"), std::string("/dev/null")}) {
    EXPECT_TRUE(CheckWritable(good).ok()) << good;
  }
  for (const std::string& bad : {folder.Path("absent/b"), folder.Path("")}) {
    EXPECT_THAT(std::string(CheckWritable(bad).message()),
                HasSubstr("cannot write"));
  }
  EXPECT_EQ(folder.Read("a"), "old");
  EXPECT_EQ(folder.FileCount(), 1);
}

TEST(FileTest, FollowsSymbolicLinks) {
  const TemporaryFolder folder;
  folder.Write("a", "old");
  std::filesystem::create_symlink("a", folder.Path("link"));
  ASSERT_TRUE(WriteFile(folder.Path("link"), "new", "").ok());
  EXPECT_EQ(folder.Read("a"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path("link")));
}

TEST(FileTest, ReportsFullDisk) {
  const absl::Status status = WriteFile("/dev/full", "head", "body");
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(FileTest, FailedWriteLeavesTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "old");
  {
    const FileSizeLimit limit(1000);
    const absl::Status status = WriteFile(path, "head", std::string(2000, 'x'));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("cannot write " + path + ": File too large"));
  }
  EXPECT_EQ(folder.Read("a"), "old");
  EXPECT_EQ(folder.FileCount(), 1);
}

TEST(FileTest, ContentsAreDurableBeforeTheOldFileIsReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "old");
  sync_error = EIO;
  const int before = sync_count;
  const absl::Status status = WriteFile(path, "new", "");
  EXPECT_EQ(sync_count, before + 1);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot write"));
  EXPECT_EQ(folder.Read("a"), "old");
  EXPECT_EQ(folder.FileCount(), 1);
  // Some file systems do not support fsync().
  sync_error = EINVAL;
  EXPECT_TRUE(WriteFile(path, "new", "").ok());
  EXPECT_EQ(folder.Read("a"), "new");
  sync_error = 0;
}

TEST(FileTest, ReplacesSeveralFilesOrNone) {
  const TemporaryFolder folder;
  folder.Write("a", "old a");
  folder.Write("b", "old b");
  {
    FileReplacement files;
    ASSERT_TRUE(files.Add(folder.Path("a"), "new a").ok());
    EXPECT_FALSE(files.Add(folder.Path("absent/b"), "new b").ok());
  }
  EXPECT_EQ(folder.Read("a"), "old a");
  EXPECT_EQ(folder.FileCount(), 2);
  FileReplacement files;
  ASSERT_TRUE(files.Add(folder.Path("a"), "new a").ok());
  ASSERT_TRUE(files.Add(folder.Path("b"), "new ", "b").ok());
  EXPECT_EQ(folder.Read("a"), "old a");
  EXPECT_EQ(folder.FileCount(), 4);
  ASSERT_TRUE(files.Commit().ok());
  EXPECT_EQ(folder.Read("a"), "new a");
  EXPECT_EQ(folder.Read("b"), "new b");
  EXPECT_EQ(folder.FileCount(), 2);
}

TEST(FileTest, SignalHandlersCanRemoveAllTemporaryFiles) {
  const TemporaryFolder folder;
  folder.Write("a", "old");
  {
    FileReplacement files;
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_TRUE(files.Add(folder.Path(name), "new").ok());
    }
    EXPECT_EQ(folder.FileCount(), 4);
    RemoveUnfinishedFiles();
    EXPECT_EQ(folder.FileCount(), 1);
  }
  // Files that are complete are not removed.
  ASSERT_TRUE(WriteFile(folder.Path("b"), "new", "").ok());
  RemoveUnfinishedFiles();
  EXPECT_EQ(folder.FileCount(), 2);
}

TEST(FileTest, TextFilesAreEscaped) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteTextFile(folder.Path("a"), "a\x1b\n").ok());
  EXPECT_EQ(folder.Read("a"), "a\\u001b\n");
}

TEST(FileTest, ReportsPathInMissingFolder) {
  const absl::Status status = WriteFile("/nonexistent/x.npy", "a", "b");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/x.npy"));
}

TEST(FileTest, DoesNotReplaceFolder) {
  const TemporaryFolder folder;
  EXPECT_FALSE(WriteFile(folder.Path(""), "a", "b").ok());
}

TEST(FileTest, ReadStopsAtEndOfFile) {
  const TemporaryFolder folder;
  auto file = FileReader::Open(folder.Write("a", "12345"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->RemainingBytes(), 5);
  EXPECT_EQ(*file->Read(2), "12");
  EXPECT_EQ(file->RemainingBytes(), 3);
  EXPECT_EQ(*file->Read(int64_t{1} << 40), "345");
  EXPECT_EQ(*file->Read(1), "");
}

TEST(FileTest, DoesNotReadFolder) {
  auto file = FileReader::Open("/");
  EXPECT_FALSE(file.ok() && file->Read(1).ok());
}

}  // namespace
}  // namespace locus::client
