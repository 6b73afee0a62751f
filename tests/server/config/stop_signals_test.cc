#include "server/config/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/support/thread_limit.h"

namespace locus::server {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

constexpr std::chrono::milliseconds kShort(20);
constexpr std::chrono::hours kLong(1);
constexpr int kUnexpected = 9;

// The tests run in child processes, because signals concern the whole process.
StopSignals& InstallSignals(std::chrono::nanoseconds start_limit = kLong) {
  const auto signals =
      StopSignals::Install({.start_limit = start_limit, .on_timeout = [] {
                              std::fputs("time limit\n", stderr);
                            }});
  if (!signals.ok()) _exit(kUnexpected);
  return **signals;
}

void Send(int signal) { kill(getpid(), signal); }

// Stands for work that does not end.
[[noreturn]] void Hang() {
  std::this_thread::sleep_for(std::chrono::seconds(30));
  _exit(kUnexpected);
}

TEST(StopSignalsTest, AwaitReturnsTheFirstSignal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_EXIT(
        {
          const StopSignals& signals = InstallSignals();
          if (signals.is_received()) _exit(kUnexpected);
          Send(signal);
          const int received = signals.Await();
          _exit(signals.is_received() ? received : kUnexpected);
        },
        ExitedWithCode(signal), "");
  }
}

TEST(StopSignalsTest, ReceivesASignalThatTheParentIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGTERM, SIG_IGN);
        const StopSignals& signals = InstallSignals();
        Send(SIGTERM);
        signals.Await();
        Send(SIGTERM);
        Hang();
      },
      KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsTest, SecondSignalTerminatesTheProcess) {
  EXPECT_EXIT(
      {
        StopSignals& signals = InstallSignals();
        signals.OnStarted(kLong);
        Send(SIGTERM);
        signals.Await();
        Send(SIGINT);
        Hang();
      },
      KilledBySignal(SIGINT), "");
}

TEST(StopSignalsTest, EndsAStartThatHangs) {
  EXPECT_EXIT(
      {
        InstallSignals(kShort);
        Send(SIGTERM);
        Hang();
      },
      ExitedWithCode(0), "time limit");
}

TEST(StopSignalsTest, EndsADrainThatHangs) {
  EXPECT_EXIT(
      {
        StopSignals& signals = InstallSignals();
        signals.OnStarted(kShort);
        Send(SIGTERM);
        Hang();
      },
      ExitedWithCode(0), "time limit");
}

TEST(StopSignalsTest, DrainLimitReplacesTheStartLimit) {
  EXPECT_EXIT(
      {
        StopSignals& signals = InstallSignals(kShort);
        signals.OnStarted(kLong);
        Send(SIGTERM);
        signals.Await();
        std::this_thread::sleep_for(5 * kShort);
        _exit(7);
      },
      ExitedWithCode(7), "");
}

TEST(StopSignalsTest, TimeLimitsDoNotApplyWithoutASignal) {
  EXPECT_EXIT(
      {
        InstallSignals(kShort).OnStarted(kShort);
        std::this_thread::sleep_for(5 * kShort);
        _exit(7);
      },
      ExitedWithCode(7), "");
}

TEST(StopSignalsTest, ReportsThatItsThreadCannotBeCreated) {
  if (!kCanLimitThreads) GTEST_SKIP() << "sanitizers need address space";
  EXPECT_EXIT(
      {
        LimitThreads(0);
        const auto signals = StopSignals::Install({});
        std::fputs(std::string(signals.status().message()).c_str(), stderr);
        _exit(absl::IsResourceExhausted(signals.status()) ? 7 : kUnexpected);
      },
      ExitedWithCode(7), "cannot create a thread");
}

}  // namespace
}  // namespace locus::server
