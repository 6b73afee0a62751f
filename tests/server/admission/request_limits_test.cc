// Each limit of a request is named in the error; a request of exactly the limit
// passes.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

template <typename Request>
Request Parsed(const std::string& text) {
  Request request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request));
  return request;
}

// The limit that an error names; empty if the call succeeded.
std::string LimitOf(const grpc::Status& status) {
  if (status.ok()) return "";
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED)
      << status.error_message();
  const ErrorDetails details = DetailsOf(status);
  return details.quota ? details.quota->violations(0).subject() : "no details";
}

std::string Encode(const ServerOptions& options, const std::string& text) {
  TestServer server(options);
  grpc::ClientContext context;
  v1::EncodeResponse response;
  return LimitOf(server.encoding().Encode(
      &context, Parsed<v1::EncodeRequest>(text), &response));
}

std::string Attend(const ServerOptions& options, const std::string& text) {
  TestServer server(options);
  grpc::ClientContext context;
  v1::AttendResponse response;
  return LimitOf(server.attention().Attend(
      &context, Parsed<v1::AttendRequest>(text), &response));
}

TEST(RequestLimitsTest, RejectsTooLongSequences) {
  ServerOptions options = TestOptions();
  options.max_length = 100;
  const std::string request = "scheme { rope {} } dim: 8 positions { range ";
  EXPECT_EQ(Encode(options, request + "{ count: 100 } }"), "");
  EXPECT_EQ(Encode(options, request + "{ count: 101 } }"), "max_length");
  std::string tokens = "scheme { rope {} } module { head_count: 1 dim: 8 ";
  for (int i = 0; i < 101; ++i) tokens += "tokens: 'a' ";
  EXPECT_EQ(Attend(options, tokens + "}"), "max_length");
}

TEST(RequestLimitsTest, RejectsTooManyHeads) {
  ServerOptions options = TestOptions();
  options.max_heads = 4;
  const std::string request =
      "scheme { alibi {} } positions { range { count: 3 } } head_count: ";
  EXPECT_EQ(Encode(options, request + "4"), "");
  EXPECT_EQ(Encode(options, request + "5"), "max_heads");
}

TEST(RequestLimitsTest, RejectsTooManyElements) {
  ServerOptions options = TestOptions();
  options.max_elements = 8;
  const auto request = [](int rows) {
    return "scheme { rope {} } input { dtype: DATA_TYPE_FLOAT32 shape: " +
           std::to_string(rows) + " shape: 4 data: '" +
           [&] {
             std::string zeros;
             for (int i = 0; i < rows * 16; ++i) zeros += "\\000";
             return zeros;
           }() +
           "' }";
  };
  EXPECT_EQ(Encode(options, request(2)), "");
  EXPECT_EQ(Encode(options, request(3)), "max_elements");
}

// A tensor of zeros in text form.
std::string Zeros(int rows, int columns) {
  std::string data;
  for (int i = 0; i < rows * columns * 4; ++i) data += "\\000";
  return absl::StrCat("{ dtype: DATA_TYPE_FLOAT32 shape: ", rows,
                      " shape: ", columns, " data: '", data, "' }");
}

TEST(RequestLimitsTest, RejectsTooManyElementsInASchemeTable) {
  ServerOptions options = TestOptions();
  options.max_elements = 8;
  const auto request = [](int rows) {
    return absl::StrCat("scheme { learned { table ", Zeros(rows, 4),
                        " } } dim: 4 positions { range { count: 1 } }");
  };
  EXPECT_EQ(Encode(options, request(2)), "");
  EXPECT_EQ(Encode(options, request(3)), "max_elements");
}

TEST(RequestLimitsTest, RejectsTooManyElementsInModuleWeights) {
  ServerOptions options = TestOptions();
  const auto request = [](int dim) {
    const std::string weights = Zeros(dim, dim);
    const std::string x = absl::StrReplaceAll(
        Zeros(1, dim), {{"shape: 1 ", "shape: 1 shape: 1 "}});
    return absl::StrCat("scheme { none {} } module { head_count: 1 x ", x,
                        " weights { wq ", weights, " wk ", weights, " wv ",
                        weights, " wo ", weights, " } }");
  };
  options.max_elements = 16;
  EXPECT_EQ(Attend(options, request(4)), "");
  options.max_elements = 15;
  EXPECT_EQ(Attend(options, request(4)), "max_elements");
}

TEST(RequestLimitsTest, RejectsTooManyElementsInTablesOfCheckProperties) {
  ServerOptions options = TestOptions();
  options.max_elements = 8;
  TestServer server(options);
  const auto check = [&](int rows) {
    const auto request = Parsed<v1::CheckPropertiesRequest>(
        absl::StrCat("schemes { rope {} } schemes { learned { table ",
                     Zeros(rows, 4), " } }"));
    grpc::ClientContext context;
    v1::CheckPropertiesResponse response;
    return server.evaluation().CheckProperties(&context, request, &response);
  };
  const grpc::Status status = check(3);
  EXPECT_EQ(LimitOf(status), "max_elements");
  EXPECT_NE(status.error_message().find("schemes[1].learned.table.shape"),
            std::string::npos)
      << status.error_message();
  EXPECT_NE(check(2).error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST(RequestLimitsTest, RejectsTooManyFlops) {
  ServerOptions options = TestOptions();
  options.max_call_flops = 1000;
  const std::string request = "scheme { rope {} } dim: 2 positions { range ";
  EXPECT_EQ(Encode(options, request + "{ count: 100 } }"), "");
  EXPECT_EQ(Encode(options, request + "{ count: 1000 } }"), "max_call_flops");
}

TEST(RequestLimitsTest, RejectsTooManyBytes) {
  ServerOptions options = TestOptions();
  options.max_call_bytes = int64_t{8} << 20;
  const std::string request = "scheme { rope {} } dim: 64 positions { range ";
  EXPECT_EQ(Encode(options, request + "{ count: 1000 } }"), "");
  EXPECT_EQ(Encode(options, request + "{ count: 100000 } }"), "max_call_bytes");
}

}  // namespace
}  // namespace locus::server
