#include "server/http/http_request.h"

#include <gtest/gtest.h>

#include <string>

namespace locus::server {
namespace {

TEST(HttpRequestTest, ParsesMethodPathAndAuthorization) {
  const auto request = ParseHttpHead(
      "GET /metrics?name=x HTTP/1.1\r\nHost: a\r\n"
      "authorization:  Bearer b \r\nX: \tc:d\r\n\r\n");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/metrics");
  EXPECT_EQ(request->authorization, "Bearer b");
  const auto plain = ParseHttpHead("HEAD / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->authorization, "");
}

TEST(HttpRequestTest, HeadEndsWithAnEmptyLine) {
  EXPECT_EQ(HttpHeadLength("GET / HTTP/1.1\r\n\r\nbody"), 18u);
  EXPECT_EQ(HttpHeadLength("GET / HTTP/1.1\r\n\r"), std::string::npos);
  EXPECT_FALSE(ParseHttpHead("GET / HTTP/1.1\r\n").has_value());
}

TEST(HttpRequestTest, RejectsMalformedHeads) {
  for (const std::string head :
       {"", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/2.0",
        "GET ?a HTTP/1.1", "GET metrics HTTP/1.1", "GET / HTTP/1.1 ",
        " GET / HTTP/1.1", "G\tET / HTTP/1.1", "GET / HTTP/1.1\r\nno colon",
        "GET / HTTP/1.1\r\na : b", "GET / HTTP/1.1\r\n: b",
        "GET / HTTP/1.1\r\na: b\r\n folded", "GET / HTTP/1.1\r\na: b\nc: d",
        "GET / HTTP/1.1\r\na: \x01",
        "GET / HTTP/1.1\r\nAuthorization: a\r\nauthorization: b"}) {
    EXPECT_FALSE(ParseHttpHead(head + "\r\n\r\n").has_value()) << head;
  }
}

}  // namespace
}  // namespace locus::server
