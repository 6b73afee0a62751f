#include "client/cli/support/cli_errors.h"

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

absl::Status Violation(const std::string& message, const std::string& field) {
  google::rpc::BadRequest detail;
  detail.add_field_violations()->set_field(field);
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload("type.googleapis.com/google.rpc.BadRequest",
                    absl::Cord(detail.SerializeAsString()));
  return status;
}

TEST(CliErrorsTest, UsageErrorsExitWith2AndOthersWith1) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("an error of the server")), 1);
  EXPECT_EQ(ExitCode(UsageError("wrong flag")), 2);
  EXPECT_EQ(ExitCode(AsUsage(absl::NotFoundError("no file"))), 2);
}

TEST(CliErrorsTest, OkStaysOk) {
  EXPECT_TRUE(AsUsage(absl::OkStatus(), "--q").ok());
}

TEST(CliErrorsTest, PutsTheContextFirst) {
  EXPECT_EQ(ErrorLine(AsUsage(absl::NotFoundError("no file"), "--q")),
            "--q: no file");
}

TEST(CliErrorsTest, ShowsTheCodeOfServerErrors) {
  EXPECT_EQ(ErrorLine(absl::UnavailableError("busy")), "UNAVAILABLE: busy");
}

TEST(CliErrorsTest, AddsTheFieldUnlessTheMessageContainsIt) {
  EXPECT_EQ(ErrorLine(Violation("dim: is 7", "dim")),
            "INVALID_ARGUMENT: dim: is 7");
  EXPECT_EQ(ErrorLine(Violation("is 7", "dim")),
            "INVALID_ARGUMENT: is 7 (field dim)");
}

TEST(CliErrorsTest, NamesTheFlagInsteadOfTheField) {
  const FlagHints hints = {{"dim", "--dim"},
                           {"input", "--input"},
                           {"options.causal", "--causal"},
                           {"scheme", "scheme"}};
  const auto line = [&](const std::string& message, const std::string& field) {
    return ErrorLine(WithFlagHint(Violation(message, field), hints));
  };
  EXPECT_EQ(line("dim: is 7", "dim"), "--dim: is 7");
  EXPECT_EQ(line("is 7", "dim"), "--dim: is 7");
  EXPECT_EQ(line("input.shape: is [2]", "input.shape"),
            "--input: shape: is [2]");
  EXPECT_EQ(line("scheme.xpos.base: is -1", "scheme.xpos.base"),
            "scheme: xpos.base: is -1");
  EXPECT_EQ(line("dimension: x", "dimension"),
            "INVALID_ARGUMENT: dimension: x");
}

TEST(CliErrorsTest, ReplacesOtherFieldsInTheMessage) {
  const FlagHints hints = {{"scheme", "scheme"},
                           {"options.causal", "--causal"}};
  EXPECT_EQ(
      ErrorLine(WithFlagHint(
          Violation("scheme.a.b: needs options.causal, not options.causals",
                    "scheme.a.b"),
          hints)),
      "scheme: a.b: needs --causal, not options.causals");
}

TEST(CliErrorsTest, WrongFlagsAreUsageErrors) {
  const FlagHints hints = {{"dim", "--dim"}};
  EXPECT_EQ(ExitCode(WithFlagHint(Violation("dim: is 7", "dim"), hints)), 2);
  EXPECT_EQ(ExitCode(WithFlagHint(Violation("x: is 7", "x"), hints)), 1);
}

TEST(CliErrorsTest, KeepsTheExcerptOfAnError) {
  const absl::Status status =
      WithExcerpt(absl::InvalidArgumentError("wrong"), "  text\n  ^\n");
  EXPECT_EQ(ErrorExcerpt(AsUsage(status, "--q")), "  text\n  ^\n");
  EXPECT_EQ(ErrorLine(AsUsage(status, "--q")), "--q: wrong");
  EXPECT_EQ(ErrorExcerpt(UsageError("wrong")), "");
}

TEST(CliErrorsTest, RemovesNewlines) {
  EXPECT_EQ(ErrorLine(UsageError("a\r\nb")), "a b");
}

}  // namespace
}  // namespace locus::client
