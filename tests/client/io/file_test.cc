#include "client/io/file.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;

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
