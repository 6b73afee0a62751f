#include "client/cli/requests/load_request.h"

#include "client/cli/support/cli_errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Message>
Message MakeMessage(const LoadRequestFlags& flags) {
  const auto request = MakeLoadRequest(flags);
  EXPECT_TRUE(request.ok()) << request.status();
  return std::get<Message>(request->message);
}

TEST(LoadRequestTest, SelectsTheMethodOfEachCall) {
  const auto method = [](const char* rpc) {
    return MakeLoadRequest({.rpc = rpc}).value().method;
  };
  EXPECT_EQ(method("list-schemes"), "/locus.v1.EncodingService/ListSchemes");
  EXPECT_EQ(method("encode"), "/locus.v1.EncodingService/Encode");
  EXPECT_EQ(method("attend"), "/locus.v1.AttentionService/Attend");
  EXPECT_EQ(method("check-properties"),
            "/locus.v1.EvaluationService/CheckProperties");
  EXPECT_EQ(method("health"), "/grpc.health.v1.Health/Check");
}

TEST(LoadRequestTest, EncodeRequestsATable) {
  const auto request = MakeMessage<v1::EncodeRequest>(
      {.scheme = "sinusoidal", .dim = 8, .length = 5});
  EXPECT_TRUE(request.scheme().has_sinusoidal());
  EXPECT_EQ(request.positions().range().count(), 5);
  EXPECT_EQ(request.dim(), 8);
  EXPECT_FALSE(request.has_input());
}

TEST(LoadRequestTest, PayloadSetsTheSizeOfTheTensors) {
  const auto encode =
      MakeMessage<v1::EncodeRequest>({.dim = 32, .payload = "64KiB"});
  EXPECT_EQ(encode.input().data().size(), 65536);
  EXPECT_THAT(encode.input().shape(), ElementsAre(1, 512, 32));
  const auto attend = MakeMessage<v1::AttendRequest>({.rpc = "attend",
                                                      .dim = 16,
                                                      .head_count = 2,
                                                      .dtype = "float16",
                                                      .payload = "12KiB"});
  EXPECT_THAT(attend.heads().q().shape(), ElementsAre(1, 2, 64, 16));
  EXPECT_EQ(attend.heads().k().data().size(), 4096);
}

TEST(LoadRequestTest, SerializesTheMessage) {
  const auto request = MakeLoadRequest({.rpc = "attend", .causal = true});
  v1::AttendRequest parsed;
  ASSERT_TRUE(parsed.ParseFromString(request->Serialized()));
  EXPECT_TRUE(parsed.options().causal());
  EXPECT_EQ(parsed.heads().v().data().size(), 4 * 32 * 64 * 4);
}

TEST(LoadRequestTest, RejectsInvalidFlags) {
  const auto message = [](const LoadRequestFlags& flags) {
    const absl::Status status = MakeLoadRequest(flags).status();
    EXPECT_EQ(ExitCode(status), 2);
    return std::string(status.message());
  };
  EXPECT_THAT(message({.rpc = "encoed"}), HasSubstr("did you mean encode"));
  EXPECT_THAT(message({.rpc = "list-schemes", .dim = 4}), HasSubstr("--dim"));
  EXPECT_THAT(message({.causal = true}), HasSubstr("--causal"));
  EXPECT_THAT(message({.length = 4, .payload = "1KiB"}), HasSubstr("give one"));
  EXPECT_THAT(message({.dim = 0}), HasSubstr("--dim: is 0"));
  EXPECT_THAT(message({.dtype = "int8"}), HasSubstr("--dtype"));
  EXPECT_THAT(message({.payload = "much"}), HasSubstr("--payload"));
  EXPECT_THAT(message({.scheme = "ropee"}), HasSubstr("did you mean rope"));
}

}  // namespace
}  // namespace locus::client
