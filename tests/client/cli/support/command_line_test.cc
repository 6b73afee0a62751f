#include "client/cli/support/command_line.h"

#include "gtest/gtest.h"

namespace locus::client {
namespace {

TEST(CommandLineTest, QuotesArgumentsForTheShell) {
  EXPECT_EQ(ShellQuoted("--eval-lengths=64,128"), "--eval-lengths=64,128");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("rope { base: 5e5 }"), "'rope { base: 5e5 }'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted("$HOME;*"), "'$HOME;*'");
}

TEST(CommandLineTest, NamesTheProgramLocus) {
  const char* const argv[] = {"/opt/bin/locus-1.0", "encode", "a b"};
  RecordCommandLine(3, argv);
  EXPECT_EQ(RecordedCommandLine(), "locus encode 'a b'");
}

}  // namespace
}  // namespace locus::client
