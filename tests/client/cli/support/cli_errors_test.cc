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

TEST(CliErrorsTest, NamesTheFlagOfTheField) {
  const FlagHints hints = {{"dim", "--dim"}, {"input", "--input"}};
  EXPECT_EQ(ErrorLine(WithFlagHint(Violation("dim: is 7", "dim"), hints)),
            "INVALID_ARGUMENT: dim: is 7 (set it with --dim)");
  EXPECT_EQ(ErrorLine(WithFlagHint(Violation("input.shape: x", "input.shape"),
                                   hints)),
            "INVALID_ARGUMENT: input.shape: x (set it with --input)");
  EXPECT_EQ(
      ErrorLine(WithFlagHint(Violation("dimension: x", "dimension"), hints)),
      "INVALID_ARGUMENT: dimension: x");
}

TEST(CliErrorsTest, RemovesNewlines) {
  EXPECT_EQ(ErrorLine(UsageError("a\r\nb")), "a b");
}

}  // namespace
}  // namespace locus::client
