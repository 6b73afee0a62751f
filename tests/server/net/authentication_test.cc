#include "server/net/authentication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace locus::server {
namespace {

using ::testing::HasSubstr;

constexpr char kToken[] = "0123456789abcdef";
constexpr char kOther[] = "fedcba9876543210";

class AuthTest : public ::testing::Test {
 protected:
  AuthTest() {
    char name[] = "/tmp/locus_auth_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~AuthTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& content) const {
    const std::string path = folder_ + "/tokens";
    std::ofstream(path) << content;
    return path;
  }

  std::string folder_;
};

TEST_F(AuthTest, AnyTokenOfTheFileIsGoodAndNoOther) {
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
  EXPECT_EQ((*auth)->refused(AuthVerdict::kMissing), 4);
  EXPECT_EQ((*auth)->refused(AuthVerdict::kWrong), 2);
}

TEST_F(AuthTest, ExemptionsGoByWholeServices) {
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
  EXPECT_FALSE(allowed("/grpc.reflection.v1alpha.ServerReflection/x"));
  EXPECT_EQ((*auth)->CheckMetrics(""), AuthVerdict::kMissing);
}

TEST_F(AuthTest, ErrorsNameTheLineAndNotTheToken) {
  const auto parsed = ParseTokens("0123456789abcdef\nsecret\n");
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("line 2"));
  EXPECT_THAT(std::string(parsed.status().message()),
              ::testing::Not(HasSubstr("secret")));
  EXPECT_FALSE(ParseTokens("").ok());
  EXPECT_FALSE(ParseTokens("# 0123456789abcdef\n").ok());
  EXPECT_FALSE(ParseTokens(std::string(513, 'a')).ok());
  EXPECT_TRUE(ParseTokens(std::string(512, 'a')).ok());
}

// FIPS 180-2, B.1.
TEST(TokenHashTest, IsSha256) {
  const TokenHash hash = HashToken("abc");
  EXPECT_EQ(hash[0], 0xba);
  EXPECT_EQ(hash[1], 0x78);
  EXPECT_EQ(hash[31], 0xad);
}

TEST(AuthExemptionsTest, TakesNamesAndNothingElse) {
  const auto some = ParseAuthExemptions("health, metrics");
  ASSERT_TRUE(some.ok());
  EXPECT_TRUE(some->health && some->metrics && !some->reflection);
  EXPECT_TRUE(ParseAuthExemptions("").ok());
  EXPECT_FALSE(ParseAuthExemptions("all").ok());
}

}  // namespace
}  // namespace locus::server
