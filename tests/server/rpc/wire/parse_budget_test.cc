#include "server/rpc/wire/parse_budget.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <string>

#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"
#include "server/rpc/wire/tensor_parser.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

// The bound for `wire`, parsed as a message of type M.
template <typename M>
int64_t Bound(const std::string& wire) {
  google::protobuf::io::ArrayInputStream stream(wire.data(),
                                                static_cast<int>(wire.size()));
  return BoundParsedSize(*M::descriptor(), &stream, 1 << 20).bytes;
}

template <typename M>
void ExpectBounded(const std::string& wire) {
  M message;
  ASSERT_TRUE(message.ParseFromString(wire));
  EXPECT_GE(Bound<M>(wire), static_cast<int64_t>(message.SpaceUsedLong()));
}

TEST(ParseBudgetTest, BoundsMemoryOfParsedMessage) {
  v1::AttendRequest tokens;
  for (int i = 0; i < 10000; ++i) tokens.mutable_module()->add_tokens("");
  ExpectBounded<v1::AttendRequest>(tokens.SerializeAsString());

  v1::EncodeRequest ids;
  for (int i = 0; i < 100000; ++i) {
    ids.mutable_positions()->mutable_ids()->add_ids(i % 100);
  }
  ids.mutable_scheme()->mutable_alibi()->mutable_slopes()->Resize(5000, 0.5);
  ExpectBounded<v1::EncodeRequest>(ids.SerializeAsString());

  std::string unknown;
  for (int i = 0; i < 10000; ++i) unknown += std::string("\x98\x06\x01", 3);
  for (int i = 0; i < 10000; ++i) unknown += std::string("\x9a\x06\x00", 3);
  for (int i = 0; i < 1000; ++i) unknown += std::string("\x9b\x06\x9c\x06", 4);
  ExpectBounded<v1::EncodeRequest>(unknown);
}

TEST(ParseBudgetTest, CountsTensorsAtTheirSize) {
  v1::EncodeRequest request;
  *request.mutable_input() = Zeros({1 << 20});
  EXPECT_LT(Bound<v1::EncodeRequest>(request.SerializeAsString()),
            (4 << 20) + 10000);
}

TEST(ParseBudgetTest, CountsLargeTensorsAtTheirSize) {
  v1::EncodeRequest request;
  *request.mutable_input() = Zeros({(kLargeTensorBytes + 100) / 4});
  const std::string wire = request.SerializeAsString();
  google::protobuf::io::ArrayInputStream stream(wire.data(),
                                                static_cast<int>(wire.size()));
  const ParsedSize size =
      BoundParsedSize(*v1::EncodeRequest::descriptor(), &stream, 1 << 20);
  EXPECT_TRUE(size.has_large_bytes);
  EXPECT_LT(size.bytes, kLargeTensorBytes + 10000);
}

TEST(ParseBudgetTest, StopsAtMaxFields) {
  const std::string wire(1000, '\x08');  // tag, value, tag, value
  google::protobuf::io::ArrayInputStream stream(wire.data(),
                                                static_cast<int>(wire.size()));
  EXPECT_EQ(
      BoundParsedSize(*v1::EncodeRequest::descriptor(), &stream, 10).fields,
      11);
}

TEST(ParseBudgetTest, TruncatedFieldsTakeNoMemory) {
  // The unknown field 100 with two million bytes, field 1, a message, with 4
  // GiB, and field 100 within field 1. At most one of the announced bytes
  // follows.
  for (const std::string claim :
       {"\xa2\x06\x80\x89\x7a\x61", "\x0a\xff\xff\xff\xff\x0f",
        "\x0a\x7f\xa2\x06\x80\x89\x7a\x61"}) {
    google::protobuf::io::ArrayInputStream stream(
        claim.data(), static_cast<int>(claim.size()));
    const ParsedSize size =
        BoundParsedSize(*v1::EncodeRequest::descriptor(), &stream, 1 << 20);
    EXPECT_TRUE(size.is_truncated);
    EXPECT_LT(size.bytes, 10000);
    EXPECT_FALSE(v1::EncodeRequest().ParseFromString(claim));
  }
}

TEST(ParseBudgetTest, StopsAtMalformedInput) {
  EXPECT_GT(Bound<v1::EncodeRequest>("\xff\xff\xff\xff"), 0);
  EXPECT_GT(Bound<v1::EncodeRequest>(std::string("\x0a\xff\xff\xff\x7f", 5)),
            0);
  EXPECT_GT(Bound<v1::EncodeRequest>(std::string(100000, '\x0b')), 0);
}

}  // namespace
}  // namespace locus::server
