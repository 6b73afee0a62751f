// The parser of large messages gives the same results as protobuf's, which is
// the reference.
#include "server/rpc/wire/tensor_parser.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/random.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/evaluation.pb.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

// Parses in blocks of `block` bytes, as gRPC delivers them.
template <typename M>
bool Parse(const std::string& wire, M* message, int block = 7) {
  const auto size = static_cast<int>(wire.size());
  google::protobuf::io::ArrayInputStream stream(wire.data(), size, block);
  return ParseLargeMessage(&stream, size, message);
}

template <typename M>
void ExpectMatchesReference(const std::string& wire) {
  M expected, actual;
  const bool parsed = expected.ParseFromString(wire);
  ASSERT_EQ(Parse(wire, &actual), parsed);
  if (parsed) {
    EXPECT_EQ(actual.SerializeAsString(), expected.SerializeAsString());
  }
}

v1::AttendRequest Request() {
  v1::AttendRequest request;
  request.mutable_scheme()->mutable_alibi()->add_slopes(0.5);
  *request.mutable_heads()->mutable_q() = Zeros({1, 1, 2, 4});
  *request.mutable_heads()->mutable_k() = Zeros({1, 1, 3, 4});
  request.mutable_options()->set_scale(0.25);
  request.mutable_options()->mutable_key_positions()->mutable_ids()->add_ids(
      300);
  return request;
}

v1::AttendRequest ModuleRequest() {
  v1::AttendRequest request;
  request.mutable_module()->add_tokens("a");
  request.mutable_module()->add_tokens("b");
  *request.mutable_module()->mutable_weights()->mutable_wq() = Zeros({2, 2});
  return request;
}

TEST(TensorParserTest, MatchesReference) {
  ExpectMatchesReference<v1::AttendRequest>("");
  ExpectMatchesReference<v1::AttendRequest>(Request().SerializeAsString());
  ExpectMatchesReference<v1::AttendRequest>(
      ModuleRequest().SerializeAsString());
  v1::EvaluateExtrapolationRequest schemes;
  for (int i = 0; i < 3; ++i) {
    *schemes.add_schemes()->mutable_learned()->mutable_table() = Zeros({i, 2});
  }
  ExpectMatchesReference<v1::EvaluateExtrapolationRequest>(
      schemes.SerializeAsString());
}

TEST(TensorParserTest, MatchesReferenceWithRepeatedFields) {
  const std::string heads = Request().SerializeAsString();
  const std::string module = ModuleRequest().SerializeAsString();
  ExpectMatchesReference<v1::AttendRequest>(heads + heads);
  ExpectMatchesReference<v1::AttendRequest>(heads + module);
  ExpectMatchesReference<v1::AttendRequest>(module + heads + module);
}

TEST(TensorParserTest, KeepsUnknownFields) {
  const std::string unknown("\x98\x06\x01\x9a\x06\x01x\x9b\x06\x9c\x06", 12);
  ExpectMatchesReference<v1::AttendRequest>(
      unknown + Request().SerializeAsString() + unknown);
}

TEST(TensorParserTest, MatchesReferenceWithMalformedInput) {
  // Protobuf would log every string that is not valid UTF-8.
  const google::protobuf::LogSilencer silencer;
  const std::string wire =
      Request().SerializeAsString() + ModuleRequest().SerializeAsString();
  for (size_t length = 0; length < wire.size(); ++length) {
    ExpectMatchesReference<v1::AttendRequest>(wire.substr(0, length));
  }
  RandomStream random(1, "damage");
  for (int n = 0; n < 20000; ++n) {
    std::string damaged = wire;
    for (int changes = 0; changes < 3; ++changes) {
      damaged[random.Next() % damaged.size()] =
          static_cast<char>(random.Next());
    }
    ExpectMatchesReference<v1::AttendRequest>(damaged);
  }
}

TEST(TensorParserTest, DoesNotAllocateTruncatedFields) {
  v1::AttendRequest request;
  // heads.q.data announces 2^31 - 1 bytes, but none of them follow.
  const std::string wire("\x12\x0a\x0a\x08\x1a\xff\xff\xff\xff\x07??", 12);
  EXPECT_FALSE(Parse(wire, &request));
  EXPECT_LT(request.SpaceUsedLong(), 10000);
}

TEST(TensorParserTest, AllocatesTensorsWithExactSize) {
  v1::EncodeRequest request;
  *request.mutable_input() = Zeros({(kLargeTensorBytes + 100) / 4});
  const std::string wire = request.SerializeAsString();
  v1::EncodeRequest parsed;
  ASSERT_TRUE(Parse(wire, &parsed, 16384));
  EXPECT_EQ(parsed.input().data().size(), request.input().data().size());
  EXPECT_LE(parsed.input().data().capacity(),
            request.input().data().size() + 100);
}

}  // namespace
}  // namespace locus::server
