// Hostile requests: each is rejected quickly, with a code, a field and details,
// and the server keeps serving.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  std::string text;  // a request in text form
  std::string field;
  grpc::StatusCode code = grpc::INVALID_ARGUMENT;
};

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

TestServer& SharedServer() {
  static auto* const server = new TestServer;
  return *server;
}

// Expects the status within two seconds of `start`, and that the server still
// serves.
void ExpectRejected(const grpc::Status& status, const Case& expected,
                    std::chrono::steady_clock::time_point start) {
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(status.error_code(), expected.code) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(expected.field));
  const ErrorDetails details = DetailsOf(status);
  ASSERT_TRUE(details.info.has_value());
  EXPECT_EQ(details.info->metadata().at("field"), expected.field);
  if (expected.code == grpc::INVALID_ARGUMENT) {
    ASSERT_TRUE(details.bad_request.has_value());
    EXPECT_EQ(details.bad_request->field_violations(0).field(), expected.field);
  } else {
    ASSERT_TRUE(details.quota.has_value());
    EXPECT_NE(details.quota->violations(0).subject(), "");
  }
  grpc::ClientContext context;
  v1::ListSchemesResponse response;
  EXPECT_TRUE(
      SharedServer().encoding().ListSchemes(&context, {}, &response).ok());
}

class HostileEncodeTest : public testing::TestWithParam<Case> {};

TEST_P(HostileEncodeTest, IsRejected) {
  v1::EncodeRequest request;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(GetParam().text, &request));
  grpc::ClientContext context;
  v1::EncodeResponse response;
  const auto start = std::chrono::steady_clock::now();
  ExpectRejected(SharedServer().encoding().Encode(&context, request, &response),
                 GetParam(), start);
}

constexpr auto kLimit = grpc::RESOURCE_EXHAUSTED;

INSTANTIATE_TEST_SUITE_P(
    , HostileEncodeTest,
    testing::Values(
        Case{"NoScheme", "dim: 8", "scheme"},
        Case{"NoPositions", "scheme { rope {} } dim: 8", "positions"},
        Case{"EmptyPositions", "scheme { rope {} } dim: 8 positions {}",
             "positions.range"},
        Case{"NegativeCount",
             "scheme { rope {} } dim: 8 positions { range { count: -1 } }",
             "positions.range.count"},
        Case{"HugeCount",
             "scheme { rope {} } dim: 8 "
             "positions { range { count: 1000000000000000 } }",
             "positions", kLimit},
        Case{"OverflowingRange",
             "scheme { rope {} } dim: 8 positions { range { "
             "start: 9223372036854775807 count: 9223372036854775807 } }",
             "positions.range.count"},
        Case{"OverflowingBias",
             "scheme { t5_bias {} } head_count: 8 "
             "positions { range { count: 4611686018427387904 } }",
             "positions", kLimit},
        Case{"HugeDim",
             "scheme { rope {} } dim: 1000000000000 "
             "positions { range { count: 1 } }",
             "dim", kLimit},
        Case{"HugeDimWithoutPositions",
             "scheme { rope {} } dim: 10000000000 positions { range {} }",
             "dim", kLimit},
        Case{
            "NegativeDim",
            "scheme { sinusoidal {} } dim: -4 positions { range { count: 1 } }",
            "dim"},
        Case{"HugeHeadCount",
             "scheme { alibi { symmetric: true } } head_count: 1000000000 "
             "positions { range { count: 1 } }",
             "head_count", kLimit},
        Case{"NegativeHeadCount",
             "scheme { alibi { symmetric: true } } head_count: -1 "
             "positions { range { count: 1 } }",
             "head_count"},
        Case{"NanBase",
             "scheme { rope { base: nan } } dim: 8 "
             "positions { range { count: 1 } }",
             "scheme.rope.base"},
        Case{"InfiniteBase",
             "scheme { sinusoidal { base: inf } } dim: 8 "
             "positions { range { count: 1 } }",
             "scheme.sinusoidal.base"},
        Case{"NegativeBase",
             "scheme { rope { base: -1 } } dim: 8 "
             "positions { range { count: 1 } }",
             "scheme.rope.base"},
        Case{"HugeBucketCount",
             "scheme { t5_bias { bucket_count: 1099511627776 } } "
             "head_count: 2 positions { range { count: 1 } }",
             "scheme.t5_bias.bucket_count"},
        Case{"NegativeId",
             "scheme { rope {} } dim: 8 positions { ids { ids: [0, -7] } }",
             "positions.ids.ids[1]"},
        Case{"PositionBeyondTable",
             "scheme { learned { max_length: 4 } } dim: 8 "
             "positions { range { start: 9007199254740992 count: 1 } }",
             "scheme.learned.policy"},
        Case{"TableTooLong",
             "scheme { learned { max_length: 9223372036854775807 } } dim: 8 "
             "positions { range { count: 1 } }",
             "scheme.learned.max_length"},
        Case{"UnspecifiedType", "scheme { rope {} } input { shape: [2, 4] }",
             "input.dtype"},
        Case{"NegativeShape",
             "scheme { rope {} } "
             "input { dtype: DATA_TYPE_FLOAT32 shape: [-2, -4] }",
             "input.shape"},
        Case{"OverflowingShape",
             "scheme { rope {} } input { dtype: DATA_TYPE_FLOAT32 "
             "shape: [4294967296, 4294967296] }",
             "input.shape"},
        Case{"WrongDataSize",
             "scheme { rope {} } input { dtype: DATA_TYPE_FLOAT32 "
             "shape: [2, 4] data: 'abc' }",
             "input.data"},
        Case{"TooManyAxes",
             "scheme { rope {} } input { dtype: DATA_TYPE_BOOL "
             "shape: [1, 1, 1, 1, 1, 1, 1, 1, 1] data: 'a' }",
             "input.shape"},
        Case{"IntegerResult",
             "scheme { rope {} } dim: 8 dtype: DATA_TYPE_INT64 "
             "positions { range { count: 1 } }",
             "dtype"}),
    CaseName);

class HostileAttendTest : public testing::TestWithParam<Case> {};

TEST_P(HostileAttendTest, IsRejected) {
  v1::AttendRequest request;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(GetParam().text, &request));
  grpc::ClientContext context;
  v1::AttendResponse response;
  const auto start = std::chrono::steady_clock::now();
  ExpectRejected(
      SharedServer().attention().Attend(&context, request, &response),
      GetParam(), start);
}

INSTANTIATE_TEST_SUITE_P(
    , HostileAttendTest,
    testing::Values(
        Case{"NoInputs", "scheme { none {} }", "heads"},
        Case{"NoQueries", "scheme { none {} } heads {}", "heads.q"},
        Case{"NoTokens", "scheme { none {} } module {}", "module.x"},
        Case{"HugeModuleDim",
             "scheme { none {} } module { tokens: 'a' dim: 1000000000000 }",
             "module.dim", kLimit},
        Case{"TooManyRandomWeights",
             "scheme { none {} } module { tokens: 'a' dim: 16000 }",
             "module.dim", kLimit},
        Case{"HugeHeadCount",
             "scheme { none {} } module { tokens: 'a' head_count: 1000000000 }",
             "module.head_count"},
        Case{"NegativeWindow",
             "scheme { none {} } module { tokens: 'a' } options { window: -1 }",
             "options.window"},
        Case{"NanScale",
             "scheme { none {} } module { tokens: 'a' } options { scale: nan }",
             "options.scale"},
        Case{"NegativeSoftcap",
             "scheme { none {} } module { tokens: 'a' } "
             "options { softcap: -1 }",
             "options.softcap"},
        Case{"MaskDoesNotBroadcast",
             "scheme { none {} } module { tokens: 'a' } options { mask { "
             "dtype: DATA_TYPE_BOOL shape: [7] data: '1111111' } }",
             "options.mask.shape"},
        Case{"FarOffset",
             "scheme { none {} } module { tokens: 'a' } "
             "options { query_offset: 9223372036854775807 }",
             "options.query_offset"},
        Case{"TwoOffsets",
             "scheme { none {} } module { tokens: 'a' } "
             "options { query_offset: 1 bottom_right: true }",
             "options.bottom_right"}),
    CaseName);

class HostileEvaluateTest : public testing::TestWithParam<Case> {};

TEST_P(HostileEvaluateTest, IsRejected) {
  v1::EvaluateExtrapolationRequest request;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(GetParam().text, &request));
  grpc::ClientContext context;
  const auto start = std::chrono::steady_clock::now();
  const auto reader =
      SharedServer().evaluation().EvaluateExtrapolation(&context, request);
  v1::EvaluateExtrapolationResponse response;
  EXPECT_FALSE(reader->Read(&response));
  ExpectRejected(reader->Finish(), GetParam(), start);
}

INSTANTIATE_TEST_SUITE_P(
    , HostileEvaluateTest,
    testing::Values(
        Case{"NoMode", "", "pattern"},
        Case{"NoTask", "trained {}", "trained.ordering"},
        Case{"HugeTrainLength", "pattern {} train_length: 4611686018427387904",
             "train_length"},
        Case{"HugeEvalLength",
             "pattern {} eval_lengths: [64, 9223372036854775807]",
             "eval_lengths[1]"},
        Case{"NegativeSeeds", "pattern {} seed_count: -1", "seed_count"},
        Case{"NanRate", "trained { copy {} training { learning_rate: nan } }",
             "trained.training.learning_rate"},
        Case{"NegativeSteps", "trained { copy {} training { step_count: -5 } }",
             "trained.training.step_count"},
        Case{"WrongScheme",
             "pattern {} schemes { rope {} } schemes { rope { base: -1 } }",
             "schemes[1].rope.base"},
        Case{"TooMuchWork",
             "trained { copy {} model { dim: 256 layer_count: 8 } "
             "training { step_count: 1000000 batch_size: 1024 } }",
             "request", kLimit}),
    CaseName);

TEST(HostileBytesTest, RejectsBytesThatDoNotParse) {
  const std::string deep = [] {
    std::string nested;
    for (int i = 0; i < 10000; ++i) nested += '\x0b';
    return nested;
  }();
  for (const std::string& wire :
       {std::string("\xff\xff\xff\xff"), std::string("\x0a\x7f", 2),
        std::string(100, '\x0a'), deep}) {
    const auto start = std::chrono::steady_clock::now();
    ExpectRejected(CallWithBytes(wire, GRPC_COMPRESS_NONE, SharedServer()),
                   {"", "", "request", grpc::INVALID_ARGUMENT}, start);
  }
}

// That the server does not inflate the message is tested in
// tests/e2e/limits_test.py, which measures the peak memory of locusd.
TEST(HostileBytesTest, RejectsCompressedRequests) {
  v1::EncodeRequest bomb;
  bomb.mutable_input()->set_data(std::string(64 << 20, '\0'));
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const grpc::Status status =
        CallWithBytes(bomb.SerializeAsString(), algorithm, SharedServer());
    EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED);
  }
}

TEST(HostileBytesTest, RejectsMessagesAboveMaxMessageBytes) {
  ServerOptions options = TestOptions();
  options.max_message_bytes = 1 << 20;
  TestServer server(options);
  EXPECT_EQ(CallWithBytes(std::string(2 << 20, 'x'), GRPC_COMPRESS_NONE, server)
                .error_code(),
            grpc::RESOURCE_EXHAUSTED);
}

TEST(HostileBytesTest, ReservesParsedSizeOfMessages) {
  ServerOptions options = TestOptions();
  options.memory_budget_bytes = 16 << 20;
  TestServer server(options);
  // Half a million empty unknown strings, of three bytes each on the wire.
  std::string wire;
  for (int i = 0; i < 500'000; ++i) wire += std::string("\x9a\x06\x00", 3);
  const grpc::Status status = CallWithBytes(wire, GRPC_COMPRESS_NONE, server);
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(status).info->metadata().at("limit"),
            "memory_budget_bytes");
}

TEST(HostileBytesTest, RejectsMillionsOfFields) {
  std::string wire;
  for (int i = 0; i < 2'000'000; ++i) wire += std::string("\x9a\x06\x00", 3);
  const grpc::Status status =
      CallWithBytes(wire, GRPC_COMPRESS_NONE, SharedServer());
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(status).info->metadata().at("limit"), "message_fields");
}

}  // namespace
}  // namespace locus::server
