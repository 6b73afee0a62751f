#include "server/net/authentication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/temporary_folder.h"

namespace locus::server {
namespace {

using ::testing::HasSubstr;

constexpr char kToken[] = "0123456789abcdef";
constexpr char kOther[] = "fedcba9876543210";

class AuthenticatorTest : public ::testing::Test {
 protected:
  // Writes the file of tokens and returns its path.
  std::string File(const std::string& content) const {
    return folder_.Write("tokens", content);
  }

  const TemporaryFolder folder_;
};

TEST_F(AuthenticatorTest, AllowsExactlyTheTokensOfTheFile) {
  const auto auth = Authenticator::Open(
      File(absl::StrCat("# two\n\n ", kToken, " \r\n", kOther, "\n")), {});
  ASSERT_TRUE(auth.ok()) << auth.status();
  const auto check = [&](absl::string_view value) {
    return (*auth)->CheckCall("/locus.v1.EncodingService/Encode", value);
  };
  EXPECT_EQ(check(absl::StrCat("Bearer ", kToken)), AuthVerdict::kAllowed);
  EXPECT_EQ(check(absl::StrCat("bearer ", kOther)), AuthVerdict::kAllowed);
  EXPECT_EQ(check(""), AuthVerdict::kMissing);
  EXPECT_EQ(check("Bearer "), AuthVerdict::kMissing);
  EXPECT_EQ(check(kToken), AuthVerdict::kMissing);
  EXPECT_EQ(check(absl::StrCat("Basic ", kToken)), AuthVerdict::kMissing);
  EXPECT_EQ(check(absl::StrCat("Bearer ", kToken, "0")), AuthVerdict::kWrong);
  EXPECT_EQ(check("Bearer # two"), AuthVerdict::kWrong);
  EXPECT_EQ((*auth)->rejected(AuthVerdict::kMissing), 4);
  EXPECT_EQ((*auth)->rejected(AuthVerdict::kWrong), 2);
}

// RFC 9110 allows several spaces between the scheme and the token, and optional
// white space around the value of a header field.
TEST_F(AuthenticatorTest, IgnoresWhiteSpaceAroundTheToken) {
  const auto auth = Authenticator::Open(File(kToken), {});
  ASSERT_TRUE(auth.ok()) << auth.status();
  const auto check = [&](absl::string_view value) {
    return (*auth)->CheckCall("/locus.v1.EncodingService/Encode", value);
  };
  EXPECT_EQ(check(absl::StrCat("Bearer   ", kToken)), AuthVerdict::kAllowed);
  EXPECT_EQ(check(absl::StrCat("Bearer ", kToken, " ")), AuthVerdict::kAllowed);
  EXPECT_EQ(check(absl::StrCat("Bearer \t", kToken, "\t ")),
            AuthVerdict::kAllowed);
  EXPECT_EQ(check("Bearer  \t "), AuthVerdict::kMissing);
  EXPECT_EQ(check("Bearer 01234567 89abcdef"), AuthVerdict::kWrong);
}

TEST_F(AuthenticatorTest, ExemptsWholeServices) {
  const auto auth = Authenticator::Open(File(kToken), {.health = true});
  ASSERT_TRUE(auth.ok());
  const auto allowed = [&](absl::string_view path) {
    return (*auth)->CheckCall(path, "") == AuthVerdict::kAllowed;
  };
  EXPECT_TRUE(allowed("/grpc.health.v1.Health/Check"));
  EXPECT_TRUE(allowed("/grpc.health.v1.Health/Watch"));
  EXPECT_FALSE(allowed("/grpc.health.v1.HealthX/Check"));
  EXPECT_FALSE(allowed("grpc.health.v1.Health/Check"));
  EXPECT_FALSE(allowed("/x/grpc.health.v1.Health/Check"));
  EXPECT_FALSE(allowed("/grpc.reflection.v1.ServerReflection/x"));
  EXPECT_FALSE(allowed("/grpc.reflection.v1alpha.ServerReflection/x"));
  EXPECT_EQ((*auth)->CheckMetrics(""), AuthVerdict::kMissing);
}

TEST_F(AuthenticatorTest, ExemptsAllVersionsOfReflection) {
  const auto auth = Authenticator::Open(File(kToken), {.reflection = true});
  ASSERT_TRUE(auth.ok());
  for (const char* const path :
       {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
    EXPECT_EQ((*auth)->CheckCall(path, ""), AuthVerdict::kAllowed) << path;
  }
  EXPECT_EQ((*auth)->CheckCall("/grpc.health.v1.Health/Check", ""),
            AuthVerdict::kMissing);
}

TEST(ParseTokensTest, ErrorsNameTheLineButNotItsText) {
  const auto parsed = ParseTokens("0123456789abcdef\nsecret\n");
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("line 2"));
  EXPECT_THAT(std::string(parsed.status().message()),
              ::testing::Not(HasSubstr("secret")));
}

TEST(ParseTokensTest, NeedsAToken) {
  EXPECT_FALSE(ParseTokens("").ok());
  EXPECT_FALSE(ParseTokens("# 0123456789abcdef\n").ok());
}

TEST(ParseTokensTest, ChecksTheLengthOfTokens) {
  EXPECT_FALSE(ParseTokens(std::string(15, 'a')).ok());
  EXPECT_TRUE(ParseTokens(std::string(16, 'a')).ok());
  EXPECT_TRUE(ParseTokens(std::string(512, 'a')).ok());
  EXPECT_FALSE(ParseTokens(std::string(513, 'a')).ok());
}

// FIPS 180-2, B.1.
TEST(TokenHashTest, IsSha256) {
  const TokenHash hash = HashToken("abc");
  EXPECT_EQ(hash[0], 0xba);
  EXPECT_EQ(hash[1], 0x78);
  EXPECT_EQ(hash[31], 0xad);
}

}  // namespace
}  // namespace locus::server
