#include "server/http/http_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace locus::server {
namespace {

using Result = HttpHeadScanner::Result;

// The status code for a head: 0 if it is valid.
int ErrorOf(const std::string& lines) {
  const std::string head = lines + "\r\n\r\n";
  HttpHeadScanner scanner;
  if (scanner.Scan(head) != Result::kComplete) return 400;
  HttpRequestParser parser;
  return parser.ParseHead(head.substr(0, scanner.length()));
}

// The status code for a request to POST with these headers: 0 if it is valid.
int ErrorOfPost(const std::string& headers) {
  return ErrorOf("POST / HTTP/1.1\r\nHost: a\r\n" + headers);
}

TEST(HttpParserTest, ParsesTargetAndHeaders) {
  HttpRequestParser parser;
  ASSERT_EQ(parser.ParseHead("GET /metrics?name=x?y HTTP/1.1\r\nHost: a\r\n"
                             "authorization:  Bearer b \r\nX: \tc:d\r\n\r\n"),
            0);
  EXPECT_EQ(parser.request().method, "GET");
  EXPECT_EQ(parser.request().path, "/metrics");
  EXPECT_EQ(parser.request().query, "name=x?y");
  EXPECT_EQ(parser.request().Header("Authorization"), "Bearer b");
  EXPECT_EQ(parser.request().Header("x"), "c:d");
  EXPECT_EQ(parser.request().Header("y"), "");
  EXPECT_FALSE(parser.has_body());
  EXPECT_TRUE(parser.keep_alive());
}

TEST(HttpParserTest, AcceptsTargetsInAbsoluteForm) {
  HttpRequestParser parser;
  ASSERT_EQ(parser.ParseHead("GET http://a:1/b?c HTTP/1.1\r\nHost: a\r\n\r\n"),
            0);
  EXPECT_EQ(parser.request().path, "/b");
  EXPECT_EQ(parser.request().query, "c");
}

TEST(HttpParserTest, KeepAliveIsTheDefaultOfHttp11Only) {
  for (const auto& [head, expected] :
       {std::pair{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
        std::pair{"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                  false},
        std::pair{"GET / HTTP/1.0\r\n\r\n", false},
        std::pair{"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true}}) {
    HttpRequestParser parser;
    ASSERT_EQ(parser.ParseHead(head), 0) << head;
    EXPECT_EQ(parser.keep_alive(), expected) << head;
  }
}

TEST(HttpParserTest, HeadEndsWithAnEmptyLine) {
  HttpHeadScanner scanner;
  EXPECT_EQ(scanner.Scan("GET / HTTP/1.1\r\n\r"), Result::kIncomplete);
  EXPECT_EQ(scanner.Scan("GET / HTTP/1.1\r\n\r\nbody"), Result::kComplete);
  EXPECT_EQ(scanner.length(), 18u);
}

TEST(HttpParserTest, RejectsMalformedBytesBeforeTheHeadEnds) {
  for (const std::string bytes :
       {"\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\rX", "GET / HTTP/1.1\r\n a",
        "GET / HTTP/1.1\r\n\ta", " GET", "GET /\x01", "GET /\x7f",
        "GET / HTTP/1.1\r\na: b\nc: d"}) {
    HttpHeadScanner scanner;
    EXPECT_EQ(scanner.Scan(bytes), Result::kMalformed) << bytes;
  }
  HttpHeadScanner scanner;
  EXPECT_EQ(scanner.Scan(std::string("GET /\0", 6)), Result::kMalformed);
}

TEST(HttpParserTest, RejectsMalformedHeads) {
  EXPECT_EQ(ErrorOf("GET / HTTP/1.1\r\nHost: a"), 0);
  for (const std::string head : {"",
                                 "GET",
                                 "GET /",
                                 "GET  / HTTP/1.1",
                                 "GET ?a HTTP/1.1",
                                 "GET metrics HTTP/1.1",
                                 "GET / HTTP/1.1 ",
                                 " GET / HTTP/1.1",
                                 "G\tET / HTTP/1.1",
                                 "GET http:// HTTP/1.1",
                                 "GET http:///a HTTP/1.1",
                                 "GET * HTTP/1.1",
                                 "GET /\xc3\xa4 HTTP/1.1",
                                 "GET / http/1.1",
                                 "GET / HTTP/11",
                                 "GET / HTTP/1.1\r\nHost: a\r\nno colon",
                                 "GET / HTTP/1.1\r\nHost: a\r\na : b",
                                 "GET / HTTP/1.1\r\nHost: a\r\n: b",
                                 "GET / HTTP/1.1\r\nHost: a\r\na: b\r\n folded",
                                 "GET / HTTP/1.1\r\nHost: a\r\na: \x01"}) {
    EXPECT_EQ(ErrorOf(head), 400) << head;
  }
}

TEST(HttpParserTest, RejectsOtherVersions) {
  EXPECT_EQ(ErrorOf("GET / HTTP/2.0\r\nHost: a"), 505);
  EXPECT_EQ(ErrorOf("GET / HTTP/0.9"), 505);
  EXPECT_EQ(ErrorOf("GET / HTTP/9.9"), 505);
}

TEST(HttpParserTest, RequiresOneHost) {
  EXPECT_EQ(ErrorOf("GET / HTTP/1.1"), 400);
  EXPECT_EQ(ErrorOf("GET / HTTP/1.1\r\nHost: a\r\nhost: a"), 400);
  EXPECT_EQ(ErrorOf("GET / HTTP/1.0"), 0);
  EXPECT_EQ(ErrorOf("GET / HTTP/1.0\r\nHost: a\r\nHost: b"), 400);
}

TEST(HttpParserTest, RejectsRepeatedAuthorization) {
  EXPECT_EQ(ErrorOfPost("Authorization: a"), 0);
  EXPECT_EQ(ErrorOfPost("Authorization: a\r\nauthorization: a"), 400);
}

TEST(HttpParserTest, RejectsAmbiguousFraming) {
  EXPECT_EQ(ErrorOfPost("Content-Length: 5"), 0);
  EXPECT_EQ(ErrorOfPost("Transfer-Encoding: Chunked"), 0);
  for (const std::string headers :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: gzip\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 5",
        "Content-Length: +5", "Content-Length: -1", "Content-Length: 0x5",
        "Content-Length:", "Content-Length: 18446744073709551616",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"}) {
    EXPECT_EQ(ErrorOfPost(headers), 400) << headers;
  }
  for (const std::string encoding :
       {"gzip", "chunked, gzip", "gzip, chunked", "chunked, chunked",
        "xchunked", "identity", "\"chunked\""}) {
    EXPECT_EQ(ErrorOfPost("Transfer-Encoding: " + encoding), 501) << encoding;
  }
  EXPECT_EQ(ErrorOf("POST / HTTP/1.0\r\nTransfer-Encoding: chunked"), 400);
}

constexpr char kChunked[] =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

// Parses the body of a chunked request that arrives in pieces. Returns the
// error, or 0; -1 if the body is incomplete.
int ParseChunks(const std::string& bytes, size_t piece_bytes,
                std::string* body = nullptr, size_t max_body_bytes = 100) {
  HttpRequestParser parser;
  EXPECT_EQ(parser.ParseHead(kChunked), 0);
  EXPECT_TRUE(parser.SetMaxBodyBytes(max_body_bytes));
  size_t consumed = 0;
  for (size_t end = 0; parser.has_body() && end < bytes.size();) {
    end = std::min(bytes.size(), end + piece_bytes);
    const auto result = parser.ParseBody(
        absl::string_view(bytes).substr(consumed, end - consumed));
    if (result.error != 0) return result.error;
    consumed += result.consumed_bytes;
  }
  if (parser.has_body()) return -1;
  if (body != nullptr) *body = parser.request().body;
  // Trailers are ignored.
  EXPECT_EQ(parser.request().headers.size(), 2u);
  return 0;
}

TEST(HttpParserTest, ParsesChunksThatArriveInPieces) {
  for (size_t piece_bytes = 1; piece_bytes < 40; ++piece_bytes) {
    std::string body;
    EXPECT_EQ(ParseChunks("3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n"
                          "Authorization: evil\r\n\r\n",
                          piece_bytes, &body),
              0);
    EXPECT_EQ(body, "abc0123456789");
  }
}

TEST(HttpParserTest, RejectsMalformedChunks) {
  for (const std::string bytes :
       {"x\r\n", "-1\r\nabc", "3\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n", "11111111111111111\r\n",
        "3\r\nabc\r\n0\r\nContent-Length: 3\r\n\r\n"}) {
    EXPECT_EQ(ParseChunks(bytes, bytes.size()), 400) << bytes;
  }
}

TEST(HttpParserTest, LimitsBodiesExactly) {
  EXPECT_EQ(ParseChunks("2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", 1, nullptr, 5), 0);
  EXPECT_EQ(ParseChunks("2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", 1, nullptr, 4),
            413);
  EXPECT_EQ(ParseChunks("ffffffffffffffff\r\n", 100, nullptr, 4), 413);
  HttpRequestParser parser;
  ASSERT_EQ(parser.ParseHead(
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"),
            0);
  EXPECT_FALSE(parser.SetMaxBodyBytes(4));
  EXPECT_TRUE(parser.SetMaxBodyBytes(5));
}

}  // namespace
}  // namespace locus::server
