#include "client/cli/support/parser_errors.h"

#include <optional>

#include "CLI/CLI.hpp"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

struct Flags {
  std::optional<int64_t> dim;
  std::optional<int64_t> steps;
  std::optional<double> rate;
};

// Parses one flag of a command. Returns the text of the error, or an empty
// string.
std::string ErrorOf(const std::string& flag, const std::string& value,
                    Flags* flags) {
  CLI::App app;
  CLI::App* command = app.add_subcommand("run");
  command->add_option("-d,--dim", flags->dim)->type_name("N");
  command->add_option("--steps", flags->steps)->type_name("N");
  command->add_option("--rate", flags->rate)->type_name("X");
  CheckNumberFlags(app);
  try {
    app.parse(std::vector<std::string>{value, flag, "run"});
  } catch (const CLI::ParseError& error) {
    return ParserErrorText(error.what());
  }
  return "";
}

TEST(ParserErrorsTest, RejectsTextAndOverflowInNumbers) {
  Flags flags;
  EXPECT_EQ(ErrorOf("--dim", "eight", &flags),
            "--dim: is eight; must be an integer from 1 to 1048576");
  EXPECT_EQ(ErrorOf("--dim", "99999999999999999999", &flags),
            "--dim: is 99999999999999999999; must be an integer from 1 to "
            "1048576");
  EXPECT_EQ(ErrorOf("--dim", "0", &flags),
            "--dim: is 0; must be an integer from 1 to 1048576");
  EXPECT_EQ(ErrorOf("--steps", "1.5", &flags),
            "--steps: is 1.5; must be an integer from -9223372036854775808 to "
            "9223372036854775807");
  EXPECT_EQ(ErrorOf("--rate", "fast", &flags),
            "--rate: is fast; must be a number");
}

TEST(ParserErrorsTest, AcceptsNumbers) {
  Flags flags;
  EXPECT_EQ(ErrorOf("--dim", "010", &flags), "");
  EXPECT_EQ(flags.dim, 10);
  EXPECT_EQ(ErrorOf("--steps", "-3", &flags), "");
  EXPECT_EQ(flags.steps, -3);
  EXPECT_EQ(ErrorOf("--rate", "2e-3", &flags), "");
  EXPECT_EQ(flags.rate, 2e-3);
}

TEST(ParserErrorsTest, SaysWhatIsWrong) {
  EXPECT_EQ(ParserErrorText("--out: 1 required FILE missing"),
            "--out: needs a value (FILE)");
  EXPECT_EQ(ParserErrorText("--out: At Most 1 required but received 2"),
            "--out: may be given only once");
  EXPECT_EQ(ParserErrorText("SCHEME excludes --scheme"),
            "SCHEME and --scheme exclude each other; give one of them");
  EXPECT_EQ(ParserErrorText("Could not convert: --channels = 0,x"),
            "--channels: is 0,x; must be a list of numbers, such as 1,2,3");
  EXPECT_EQ(ParserErrorText("kind is required"), "kind is required");
}

}  // namespace
}  // namespace locus::client
