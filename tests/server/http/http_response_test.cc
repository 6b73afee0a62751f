#include "server/http/http_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace locus::server {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(HttpResponseTest, WritesStatusHeadersAndLength) {
  HttpResponse response = HttpTextResponse(404, "none\n");
  response.headers.emplace_back("X-Name", "a b");
  const auto head = SerializeHttpHead(response, {.keep_alive = true});
  ASSERT_TRUE(head.has_value());
  EXPECT_THAT(*head, StartsWith("HTTP/1.1 404 Not Found\r\nDate: "));
  EXPECT_THAT(*head, HasSubstr("\r\nX-Name: a b\r\n"));
  EXPECT_THAT(*head, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(*head, Not(HasSubstr("Connection")));
  EXPECT_THAT(*head, testing::EndsWith("\r\n\r\n"));
}

TEST(HttpResponseTest, DatesFollowRfc9110) {
  EXPECT_THAT(*SerializeHttpHead({}, {}),
              ContainsRegex("Date: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} "
                            "[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT\r\n"));
}

TEST(HttpResponseTest, TellsWhetherTheConnectionStaysOpen) {
  EXPECT_THAT(*SerializeHttpHead({}, {.keep_alive = false}),
              HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(*SerializeHttpHead({}, {.keep_alive = true, .http10 = true}),
              HasSubstr("Connection: keep-alive\r\n"));
}

TEST(HttpResponseTest, SomeStatusCodesHaveNoBody) {
  const auto head = SerializeHttpHead({.status = 204}, {.keep_alive = true});
  EXPECT_THAT(*head, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(*head, Not(HasSubstr("Content-Type")));
}

TEST(HttpResponseTest, RejectsHeadersThatWouldSplitTheResponse) {
  for (const std::string& value :
       {std::string("a\r\nSet-Cookie: b"), std::string("a\nb"),
        std::string("a\rb"), std::string("a\0b", 3), std::string("a\x7f")}) {
    HttpResponse response;
    response.headers.emplace_back("X", value);
    EXPECT_FALSE(SerializeHttpHead(response, {}).has_value()) << value;
    response = {.content_type = value};
    EXPECT_FALSE(SerializeHttpHead(response, {}).has_value()) << value;
  }
  for (const std::string name : {"", "a b", "a:", "a\r\nb", "\xc3\xa4"}) {
    HttpResponse response;
    response.headers.emplace_back(name, "v");
    EXPECT_FALSE(SerializeHttpHead(response, {}).has_value()) << name;
  }
  EXPECT_FALSE(SerializeHttpHead({.status = 99}, {}).has_value());
  EXPECT_FALSE(SerializeHttpHead({.status = 1000}, {}).has_value());
}

}  // namespace
}  // namespace locus::server
