#include "server/observability/log_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/clock.h"
#include "tests/support/temporary_folder.h"

namespace locus::server {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Ge;
using ::testing::StartsWith;

// Limit of a Flush() that is expected to succeed.
constexpr std::chrono::seconds kLong(60);
// Limit of a Flush() that is expected to fail.
constexpr std::chrono::milliseconds kShort(20);

void SetNonBlocking(int fd, bool enabled) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, enabled ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

// A pipe whose reader is the test.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0); }
  ~Pipe() {
    if (ends_[0] >= 0) close(ends_[0]);
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int fd() const { return ends_[1]; }

  // Writes until the pipe is full, and remembers the number of bytes.
  void Fill() {
    SetNonBlocking(fd(), true);
    const std::string page(PIPE_BUF, '.');
    while (write(fd(), page.data(), page.size()) > 0) filled_ += page.size();
    SetNonBlocking(fd(), false);
  }

  // Reads the bytes of Fill().
  void Drain() { Read(filled_); }

  // Reads this number of bytes; blocks until they have been written.
  std::string Read(size_t count) {
    std::string text(count, '\0');
    size_t done = 0;
    while (done < count) {
      const ssize_t bytes = read(ends_[0], &text[done], count - done);
      if (bytes <= 0) break;
      done += static_cast<size_t>(bytes);
    }
    text.resize(done);
    return text;
  }

  // Reads what the pipe contains; does not block.
  std::string ReadContent() {
    SetNonBlocking(ends_[0], true);
    std::string text(1 << 20, '\0');
    const ssize_t bytes = read(ends_[0], text.data(), text.size());
    text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
    return text;
  }

  void CloseReader() {
    close(ends_[0]);
    ends_[0] = -1;
  }

 private:
  int ends_[2];
  size_t filled_ = 0;
};

std::vector<std::string> Lines(const std::string& text) {
  EXPECT_THAT(text, EndsWith("\n"));
  return absl::StrSplit(text.substr(0, text.size() - 1), '\n');
}

TEST(LogWriterTest, WritesLinesInOrder) {
  Pipe pipe;
  LogWriter writer({.fd = pipe.fd()});
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    const std::string line = absl::StrCat("line ", i, "\n");
    expected += line;
    writer.Append(line);
  }
  EXPECT_TRUE(writer.Flush(kLong));
  EXPECT_EQ(pipe.ReadContent(), expected);
  EXPECT_EQ(writer.dropped_lines(), 0);
}

TEST(LogWriterTest, WritesLinesWithoutFlush) {
  Pipe pipe;
  LogWriter writer({.fd = pipe.fd()});
  for (const char* line : {"one\n", "two\n"}) {
    writer.Append(line);
    EXPECT_EQ(pipe.Read(4), line);
  }
}

TEST(LogWriterTest, KeepsLinesWhileThePipeIsFull) {
  Pipe pipe;
  pipe.Fill();
  LogWriter writer({.fd = pipe.fd()});
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string line = absl::StrCat("line ", i, "\n");
    expected += line;
    writer.Append(line);
  }
  EXPECT_FALSE(writer.Flush(kShort));
  EXPECT_EQ(writer.dropped_lines(), 0);
  pipe.Drain();
  EXPECT_EQ(pipe.Read(expected.size()), expected);
  EXPECT_TRUE(writer.Flush(kLong));
  EXPECT_EQ(writer.dropped_lines(), 0);
}

TEST(LogWriterTest, DropsAndCountsTheOldestLines) {
  Pipe pipe;
  pipe.Fill();
  LogWriter writer(
      {.fd = pipe.fd(), .limits = {.max_lines = 3, .max_bytes = 1000}});
  for (int i = 100; i < 200; ++i) writer.Append(absl::StrCat(i, "\n"));
  const int64_t dropped = writer.dropped_lines();
  // The ring has the last three lines, and the thread may have up to three
  // others.
  EXPECT_GE(dropped, 94);
  EXPECT_LE(dropped, 97);
  pipe.Drain();
  EXPECT_TRUE(writer.Flush(kLong));
  EXPECT_EQ(writer.dropped_lines(), dropped);
  std::vector<std::string> lines = Lines(pipe.ReadContent());
  EXPECT_EQ(static_cast<int64_t>(lines.size()) + dropped, 100);
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
  lines.erase(lines.begin(), lines.end() - 3);
  EXPECT_THAT(lines, ElementsAre("197", "198", "199"));
}

TEST(LogWriterTest, FlushReturnsAtItsTimeout) {
  Pipe pipe;
  pipe.Fill();
  LogWriter writer({.fd = pipe.fd()});
  EXPECT_TRUE(writer.Flush(kLong));
  writer.Append("line\n");
  const Clock::time_point start = Clock::now();
  EXPECT_FALSE(writer.Flush(kShort));
  EXPECT_THAT(Clock::now() - start, Ge(kShort));
}

TEST(LogWriterTest, DestructorDoesNotWaitForABlockedReader) {
  Pipe pipe;
  pipe.Fill();
  {
    LogWriter writer({.fd = pipe.fd()});
    writer.Append("lost\n");
  }
  pipe.Drain();
  EXPECT_EQ(pipe.ReadContent(), "");
}

TEST(LogWriterTest, ClosedDescriptorIsHarmless) {
  int closed = -1;
  {
    const Pipe pipe;
    closed = fcntl(pipe.fd(), F_DUPFD_CLOEXEC, 500);
  }
  ASSERT_GE(closed, 500);
  close(closed);
  LogWriter writer({.fd = closed});
  for (int i = 0; i < 3; ++i) writer.Append("line\n");
  EXPECT_TRUE(writer.Flush(kLong));
  EXPECT_EQ(writer.dropped_lines(), 3);
}

TEST(LogWriterTest, ClosedReaderDoesNotRaiseSigpipe) {
  ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR);
  Pipe pipe;
  LogWriter writer({.fd = pipe.fd()});
  writer.Append("read\n");
  EXPECT_EQ(pipe.Read(5), "read\n");
  pipe.CloseReader();
  for (int i = 0; i < 3; ++i) writer.Append("line\n");
  EXPECT_TRUE(writer.Flush(kLong));
  EXPECT_EQ(writer.dropped_lines(), 3);
}

TEST(LogWriterTest, FullDeviceIsHarmless) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  {
    LogWriter writer({.fd = full});
    for (int i = 0; i < 3; ++i) writer.Append("line\n");
    EXPECT_TRUE(writer.Flush(kLong));
    EXPECT_EQ(writer.dropped_lines(), 3);
  }
  close(full);
}

// Limits the size of files that the process writes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &saved_);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = saved_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &saved_); }

 private:
  rlimit saved_{};
};

TEST(LogWriterTest, EndsATornLineBeforeTheNextOne) {
  const TemporaryFolder folder;
  const int file = open(folder.Path("log").c_str(),
                        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  {
    LogWriter writer({.fd = file});
    {
      const FileSizeLimit limit(10);
      writer.Append("whole\n");
      EXPECT_TRUE(writer.Flush(kLong));
      writer.Append("torn line\n");
      writer.Append("lost\n");
      EXPECT_TRUE(writer.Flush(kLong));
    }
    EXPECT_EQ(writer.dropped_lines(), 2);
    writer.Append("next\n");
    EXPECT_TRUE(writer.Flush(kLong));
    EXPECT_EQ(writer.dropped_lines(), 2);
  }
  close(file);
  EXPECT_EQ(folder.Read("log"), "whole\ntorn\nnext\n");
}

TEST(LogWriterTest, LinesOfSeveralThreadsDoNotMix) {
  constexpr int kThreads = 8, kLines = 1000;
  Pipe pipe;
  LogWriter writer({.fd = pipe.fd()});
  std::vector<std::thread> threads;
  size_t bytes = 0;
  for (int t = 0; t < kThreads; ++t) {
    // Some lines are longer than an atomic write.
    const std::string rest(t == 0 ? PIPE_BUF + 100 : 100, '#');
    bytes += kLines * (rest.size() + 6);
    threads.emplace_back([&writer, t, rest] {
      for (int i = 0; i < kLines; ++i) {
        writer.Append(absl::StrCat(t, " ", 100 + i % 900, rest, "\n"));
        if (t == 0) {
          EXPECT_TRUE(writer.Flush(kLong));
        }
      }
    });
  }
  const std::vector<std::string> lines = Lines(pipe.Read(bytes));
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(lines.size(), size_t{kThreads * kLines});
  EXPECT_EQ(writer.dropped_lines(), 0);
  std::vector<int> next(kThreads, 0);
  for (const std::string& line : lines) {
    const int thread = line[0] - '0';
    ASSERT_TRUE(thread >= 0 && thread < kThreads) << line;
    EXPECT_THAT(line, StartsWith(absl::StrCat(
                          thread, " ", 100 + next[thread]++ % 900, "##")));
    EXPECT_EQ(line.size(), thread == 0 ? PIPE_BUF + 105 : 105);
  }
}

TEST(LogWriterTest, LeavesTheDescriptorInItsMode) {
  Pipe pipe;
  const int flags = fcntl(pipe.fd(), F_GETFL);
  pipe.Fill();
  LogWriter writer({.fd = pipe.fd()});
  writer.Append("line\n");
  EXPECT_FALSE(writer.Flush(kShort));
  EXPECT_EQ(fcntl(pipe.fd(), F_GETFL), flags);
}

TEST(LogWriterTest, WritesToANonBlockingDescriptor) {
  Pipe pipe;
  pipe.Fill();
  SetNonBlocking(pipe.fd(), true);
  LogWriter writer({.fd = pipe.fd()});
  writer.Append("line\n");
  EXPECT_FALSE(writer.Flush(kShort));
  pipe.Drain();
  EXPECT_EQ(pipe.Read(5), "line\n");
  EXPECT_TRUE(writer.Flush(kLong));
  EXPECT_EQ(writer.dropped_lines(), 0);
}

}  // namespace
}  // namespace locus::server
