#include "server/rpc/status.h"
#include "server/admission/rejection.h"
#include "server/base/printable.h"

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

TEST(StatusTest, ConvertsOk) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(StatusTest, InvalidFieldHasBadRequestDetails) {
  const grpc::Status status =
      ToGrpcStatus(InvalidField("scheme.rope.base", "is -1; must be positive"));
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "scheme.rope.base: is -1; must be positive");
  const ErrorDetails details = DetailsOf(status);
  ASSERT_TRUE(details.info && details.bad_request);
  EXPECT_EQ(details.status.code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(details.info->reason(), "INVALID_FIELD");
  EXPECT_EQ(details.info->domain(), "locus.v1");
  EXPECT_EQ(details.info->metadata().at("field"), "scheme.rope.base");
  EXPECT_EQ(details.bad_request->field_violations(0).field(),
            "scheme.rope.base");
}

TEST(StatusTest, LimitExceededHasQuotaFailureDetails) {
  const ErrorDetails details = DetailsOf(ToGrpcStatus(
      LimitExceeded("response", "max_message_bytes", "is too large")));
  ASSERT_TRUE(details.info && details.quota);
  EXPECT_EQ(details.info->reason(), "LIMIT_EXCEEDED");
  EXPECT_EQ(details.info->metadata().at("limit"), "max_message_bytes");
  EXPECT_EQ(details.quota->violations(0).subject(), "max_message_bytes");
}

TEST(StatusTest, RejectionHasRetryInfoDetails) {
  for (const RejectReason reason : kRejectReasons) {
    const ErrorDetails details =
        DetailsOf(ToGrpcStatus(Reject(reason, "not now")));
    ASSERT_TRUE(details.info && details.retry);
    EXPECT_EQ(details.info->reason(),
              reason == RejectReason::kDraining ? "DRAINING" : "OVERLOADED");
    EXPECT_GT(details.retry->retry_delay().seconds() +
                  details.retry->retry_delay().nanos(),
              0);
  }
}

TEST(StatusTest, HidesMessageOfInternalErrors) {
  for (const auto& error :
       {absl::InternalError("secret"), absl::UnknownError("secret"),
        absl::NotFoundError("secret")}) {
    const grpc::Status status = ToGrpcStatus(error);
    EXPECT_EQ(status.error_code(), grpc::INTERNAL);
    EXPECT_EQ(status.error_message().find("secret"), std::string::npos);
    EXPECT_EQ(status.error_details().find("secret"), std::string::npos);
  }
}

TEST(StatusTest, TruncatesLongMessagesBetweenCharacters) {
  std::string text = "x";
  while (text.size() < 5000) text += "\u00e9";
  const std::string message =
      ToGrpcStatus(InvalidField("f", text)).error_message();
  EXPECT_LE(message.size(), 1024u + 3);
  EXPECT_EQ(Printable(message, 5000), message);
}

}  // namespace
}  // namespace locus::server
