// CheckProperties over a real connection.
#include <gtest/gtest.h>

#include "tests/support/test_server.h"

namespace locus::server {
namespace {

TEST(CheckPropertiesTest, ChecksAllSchemesAndNaiveEncodingsByDefault) {
  TestServer server;
  grpc::ClientContext context;
  v1::CheckPropertiesResponse response;
  const grpc::Status status =
      server.evaluation().CheckProperties(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const int schemes =
      v1::Scheme::descriptor()->FindOneofByName("kind")->field_count();
  EXPECT_EQ(response.results_size(), schemes + 3);
  for (int i = 0; i < response.results_size(); ++i) {
    const v1::SchemeProperties& result = response.results(i);
    EXPECT_EQ(result.naive(), i >= schemes);
    EXPECT_GE(result.properties_size(), result.naive() ? 1 : 9);
    for (const auto& property : result.properties()) {
      EXPECT_TRUE(property.as_promised())
          << result.scheme_name() << " " << property.property();
    }
  }
}

TEST(CheckPropertiesTest, ChecksOnlyRequestedSchemes) {
  TestServer server;
  for (const bool naive : {false, true}) {
    v1::CheckPropertiesRequest request;
    request.add_schemes()->mutable_rope();
    request.add_schemes()->mutable_rope()->set_base(500);
    if (naive) request.set_naive(true);
    grpc::ClientContext context;
    v1::CheckPropertiesResponse response;
    ASSERT_TRUE(
        server.evaluation().CheckProperties(&context, request, &response).ok());
    ASSERT_EQ(response.results_size(), naive ? 5 : 2);
    EXPECT_EQ(response.results(0).scheme_name(), "rope base=10000");
    EXPECT_EQ(response.results(1).scheme_name(), "rope base=500");
  }
}

}  // namespace
}  // namespace locus::server
