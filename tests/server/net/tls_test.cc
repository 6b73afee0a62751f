#include "server/net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <string>

#include "tests/support/temporary_folder.h"

namespace locus::server {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::system_clock;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// 2026-01-02T03:04:05Z.
constexpr system_clock::time_point kNow{seconds(1'767'323'045)};

std::string ContentOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

// Writes a self-signed certificate for the time from `begin` to `end`, relative
// to kNow, and its key.
TlsFiles WriteCertificate(const TemporaryFolder& folder, seconds begin,
                          seconds end) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"),
                                                           EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(),
                                                           X509_free);
  const auto now = system_clock::to_time_t(kNow);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), now + begin.count());
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), now + end.count());
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), certificate.get());
  const std::string certificate_text = ContentOf(bio.get());
  BIO_reset(bio.get());
  PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr,
                           nullptr);
  return {.certificate = folder.Write("server.pem", certificate_text),
          .key = folder.Write("server.key", ContentOf(bio.get())),
          .client_ca = ""};
}

class TlsIdentityTest : public ::testing::Test {
 protected:
  // Returns the message of ReadTlsIdentity() at kNow; empty if it succeeds.
  std::string ErrorOf(seconds begin, seconds end) const {
    const auto identity =
        ReadTlsIdentity(WriteCertificate(folder_, begin, end), kNow);
    return std::string(identity.status().message());
  }

  const TemporaryFolder folder_;
};

TEST_F(TlsIdentityTest, ReadsTheExpiry) {
  const auto identity =
      ReadTlsIdentity(WriteCertificate(folder_, -hours(1), hours(1)), kNow);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->not_after_seconds,
            system_clock::to_time_t(kNow + hours(1)));
}

TEST_F(TlsIdentityTest, ValidityIncludesItsFirstAndLastSecond) {
  EXPECT_EQ(ErrorOf(seconds(0), seconds(0)), "");
}

TEST_F(TlsIdentityTest, RejectsAnExpiredCertificate) {
  const std::string error = ErrorOf(-hours(1), seconds(-1));
  EXPECT_THAT(error, StartsWith("--tls-cert: " + folder_.Path("server.pem")));
  EXPECT_THAT(error, EndsWith("a certificate that expired at "
                              "2026-01-02T03:04:04Z"));
}

TEST_F(TlsIdentityTest, RejectsACertificateThatIsNotYetValid) {
  EXPECT_THAT(ErrorOf(seconds(1), hours(1)),
              EndsWith("a certificate that is not valid before "
                       "2026-01-02T03:04:06Z"));
}

TEST_F(TlsIdentityTest, OpenRejectsAnExpiredCertificate) {
  const auto now = std::chrono::floor<seconds>(system_clock::now());
  const seconds age = now - std::chrono::floor<seconds>(kNow);
  const auto store =
      TlsStore::Open(WriteCertificate(folder_, age - hours(2), age - hours(1)));
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("expired at"));
}

}  // namespace
}  // namespace locus::server
