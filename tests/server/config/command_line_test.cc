#include "server/config/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/version.h"
#include "tests/support/temporary_folder.h"

namespace locus::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Environment FakeEnvironment(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

absl::StatusOr<Command> Parse(
    const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& variables = {}) {
  return ParseCommandLine(arguments, FakeEnvironment(variables));
}

// A temporary flag file.
class FlagFile {
 public:
  explicit FlagFile(const std::string& text)
      : path_(folder_.Write("flags", text)) {}
  std::string flag() const { return "--flagfile=" + path_; }
  const std::string& path() const { return path_; }

 private:
  const TemporaryFolder folder_;
  const std::string path_;
};

TEST(CommandLineTest, DefaultsAreThoseOfServerOptions) {
  const auto command = Parse({});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_FALSE(command->text.has_value());
  const ServerOptions defaults;
  EXPECT_EQ(command->options.listen, defaults.listen);
  EXPECT_EQ(command->options.http, defaults.http);
  EXPECT_EQ(command->options.max_queued_calls, defaults.max_queued_calls);
  EXPECT_EQ(command->options.log_calls, defaults.log_calls);
}

TEST(CommandLineTest, ParsesFlags) {
  const auto command =
      Parse({"--listen=0.0.0.0:1", "--http", "[::1]:2", "--threads=3",
             "--max-queued-calls=4", "--max-message-bytes=5MiB",
             "--memory-budget-bytes=6GiB", "--grace-seconds=7.5",
             "--max-evaluations=8", "--max-evaluation-flops=9e9",
             "--background-evaluations=false", "--log-calls=false"});
  ASSERT_TRUE(command.ok()) << command.status();
  const ServerOptions& options = command->options;
  EXPECT_EQ(options.listen, "0.0.0.0:1");
  EXPECT_EQ(options.http, "[::1]:2");
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.max_queued_calls, 4);
  EXPECT_EQ(options.max_message_bytes, 5 << 20);
  EXPECT_EQ(options.memory_budget_bytes, int64_t{6} << 30);
  EXPECT_EQ(options.grace_seconds, 7.5);
  EXPECT_EQ(options.max_evaluations, 8);
  EXPECT_EQ(options.max_evaluation_flops, 9e9);
  EXPECT_FALSE(options.background_evaluations);
  EXPECT_FALSE(options.log_calls);
}

TEST(CommandLineTest, FlagsOverrideVariablesOverrideFileOverridesDefaults) {
  const FlagFile file(
      "# a comment\n\n--threads=2\nmax-queued-calls = 2\n"
      "max_message_bytes=2MiB\nmax-evaluations=2\n"
      "max-evaluation-flops=2e12\n");
  const auto command =
      Parse({file.flag(), "--threads=4"}, {{"LOCUS_THREADS", "3"},
                                           {"LOCUS_MAX_QUEUED_CALLS", "3"},
                                           {"LOCUS_MAX_EVALUATIONS", "3"}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->options.threads, 4);
  EXPECT_EQ(command->options.max_queued_calls, 3);
  EXPECT_EQ(command->options.max_message_bytes, 2 << 20);
  EXPECT_EQ(command->options.max_evaluations, 3);
  EXPECT_EQ(command->options.max_evaluation_flops, 2e12);
  EXPECT_EQ(command->options.grace_seconds, 20);
}

TEST(CommandLineTest, FlagFileCanBeNamedByAVariable) {
  const FlagFile file("threads=2\n");
  const auto command = Parse({}, {{"LOCUS_FLAGFILE", file.path()}});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->options.threads, 2);
}

TEST(CommandLineTest, AcceptsAnEmptyHttpAddress) {
  const auto command = Parse({"--http="});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->options.http, "");
}

TEST(CommandLineTest, PrintsHelpAndVersion) {
  const auto help = Parse({"--help"});
  ASSERT_TRUE(help.ok() && help->text.has_value());
  EXPECT_THAT(
      *help->text,
      AllOf(HasSubstr("--max-queued-calls"), HasSubstr("--max-evaluations"),
            HasSubstr("--max-evaluation-flops"), HasSubstr("Examples:")));
  const auto version = Parse({"--version"});
  ASSERT_TRUE(version.ok() && version->text.has_value());
  EXPECT_THAT(*version->text,
              ::testing::MatchesRegex(absl::StrCat(
                  "locusd ", Version(), " \\(commit [^;]+; [^)]+\\)\n")));
}

TEST(CommandLineTest, ErrorsNameTheFlagInOneLine) {
  const FlagFile unknown("thread=2\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--bogus"}, "--bogus"},
      {{"stray"}, "stray"},
      {{"--threads=abc"}, "--threads"},
      {{"--threads=-1"}, "--threads"},
      {{"--threads=1e9"}, "--threads"},
      {{"--threads"}, "--threads"},
      {{"--max-queued-calls=-5"}, "--max-queued-calls"},
      {{"--max-message-bytes=3GiB"}, "--max-message-bytes"},
      {{"--max-message-bytes=12XiB"}, "--max-message-bytes"},
      {{"--memory-budget-bytes=99999999999TiB"}, "--memory-budget-bytes"},
      {{"--memory-budget-bytes=7"}, "--memory-budget-bytes"},
      {{"--grace-seconds=nan"}, "--grace-seconds"},
      {{"--grace-seconds=-1"}, "--grace-seconds"},
      {{"--max-evaluations=-1"}, "--max-evaluations"},
      {{"--max-evaluations=65"}, "--max-evaluations"},
      {{"--max-evaluation-flops=0"}, "--max-evaluation-flops"},
      {{"--max-evaluation-flops=nan"}, "--max-evaluation-flops"},
      {{"--max-evaluation-flops=inf"}, "--max-evaluation-flops"},
      {{"--max-evaluation-flops=lots"}, "--max-evaluation-flops"},
      {{"--background-evaluations=maybe"}, "--background-evaluations"},
      {{"--log-calls=perhaps"}, "--log-calls"},
      {{"--listen=nowhere"}, "--listen"},
      {{"--listen=127.0.0.1:65536"}, "--listen"},
      {{"--listen=127.0.0.1:-1"}, "--listen"},
      {{"--listen=:50051"}, "--listen"},
      {{"--listen=a b:1"}, "--listen"},
      {{"--http=[::1:1"}, "--http"},
      {{"--http=x\ny:1"}, "--http"},
      {{"--flagfile=/nonexistent/file"}, "--flagfile"},
      {{"--flagfile=/"}, "--flagfile"},
      {{unknown.flag()}, ":1:"},
  };
  for (const auto& [arguments, part] : cases) {
    const auto command = Parse(arguments);
    ASSERT_FALSE(command.ok()) << arguments[0];
    EXPECT_THAT(std::string(command.status().message()),
                AllOf(HasSubstr(part), Not(HasSubstr("\n"))));
  }
}

TEST(CommandLineTest, UnknownFlagsGetASuggestion) {
  const auto message = [](const char* argument) {
    return std::string(Parse({argument}).status().message());
  };
  EXPECT_EQ(message("--htpp="),
            "unknown flag --htpp; did you mean --http?; see locusd --help");
  EXPECT_EQ(
      message("--thread=2"),
      "unknown flag --thread; did you mean --threads?; see locusd --help");
  EXPECT_EQ(message("--qqqqqq"), "unknown flag --qqqqqq; see locusd --help");
  EXPECT_EQ(message("stray"), "unexpected argument stray; see locusd --help");
}

TEST(CommandLineTest, ErrorsNameTheVariable) {
  const auto command = Parse({}, {{"LOCUS_THREADS", "many"}});
  ASSERT_FALSE(command.ok());
  EXPECT_THAT(std::string(command.status().message()),
              HasSubstr("LOCUS_THREADS"));
}

}  // namespace
}  // namespace locus::server
