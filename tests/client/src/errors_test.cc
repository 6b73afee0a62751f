#include "locus/client/errors.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

// Returns the client's status for an error with that detail.
template <typename Detail>
absl::Status StatusWith(const Detail& detail) {
  google::rpc::Status details;
  details.add_details()->PackFrom(detail);
  return FromGrpc(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no",
                               details.SerializeAsString()));
}

TEST(ErrorsTest, KeepsCodeAndMessage) {
  const absl::Status status =
      FromGrpc(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too much"));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "too much");
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(ErrorsTest, ReadsFieldViolations) {
  google::rpc::BadRequest detail;
  auto* violation = detail.add_field_violations();
  violation->set_field("scheme.rope.base");
  violation->set_description("is -1");
  const auto violations = FieldViolations(StatusWith(detail));
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "scheme.rope.base");
  EXPECT_EQ(violations[0].description, "is -1");
}

TEST(ErrorsTest, ReadsRetryDelay) {
  google::rpc::RetryInfo detail;
  detail.mutable_retry_delay()->set_seconds(2);
  detail.mutable_retry_delay()->set_nanos(500000000);
  EXPECT_EQ(RetryDelay(StatusWith(detail)), absl::Milliseconds(2500));
}

TEST(ErrorsTest, ReadsReason) {
  google::rpc::ErrorInfo detail;
  detail.set_reason("INVALID_FIELD");
  EXPECT_EQ(ErrorReason(StatusWith(detail)), "INVALID_FIELD");
}

TEST(ErrorsTest, IsEmptyWithoutDetails) {
  const absl::Status status = absl::InternalError("x");
  EXPECT_TRUE(FieldViolations(status).empty());
  EXPECT_EQ(RetryDelay(status), std::nullopt);
  EXPECT_EQ(ErrorReason(status), "");
}

TEST(ErrorsTest, DropsUnparsableDetails) {
  const absl::Status status = FromGrpc(
      grpc::Status(grpc::StatusCode::INTERNAL, "broken", "\xff\xff\xff"));
  EXPECT_EQ(status.message(), "broken");
  EXPECT_TRUE(FieldViolations(status).empty());
}

}  // namespace
}  // namespace locus::client
