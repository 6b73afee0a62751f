#include "server/net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <chrono>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/base/printable.h"
#include "server/observability/log.h"

namespace locus::server {
namespace {

template <typename T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* pointer) const { kFree(pointer); }
};
void FreeBio(BIO* bio) { BIO_free(bio); }
using BioPtr = std::unique_ptr<BIO, Freer<BIO, FreeBio>>;
using X509Ptr = std::unique_ptr<X509, Freer<X509, X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX, SSL_CTX_free>>;

absl::Status FileError(absl::string_view flag, const std::string& path,
                       absl::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", Printable(path, 200), " ", problem));
}

BioPtr MakeBio(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Password callback. Without it, OpenSSL would ask for a password on the
// terminal.
int NoPassword(char*, int, int, void*) { return 0; }

// Parses all certificates of a file. Fails if there is none, or if one of them
// is malformed.
absl::StatusOr<std::vector<X509Ptr>> ParseCertificates(
    absl::string_view flag, const std::string& path, const std::string& text) {
  const BioPtr source = MakeBio(text);
  std::vector<X509Ptr> certificates;
  while (X509* one =
             PEM_read_bio_X509(source.get(), nullptr, NoPassword, nullptr)) {
    certificates.emplace_back(one);
  }
  const auto error = ERR_peek_last_error();
  ERR_clear_error();
  const bool at_end = ERR_GET_LIB(error) == ERR_LIB_PEM &&
                      ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (certificates.empty() || !at_end) {
    return FileError(flag, path,
                     certificates.empty()
                         ? "holds no certificate in PEM form"
                         : "holds a certificate that is broken");
  }
  return certificates;
}

absl::StatusOr<KeyPtr> ParseKey(const std::string& path,
                                const std::string& text) {
  const BioPtr source = MakeBio(text);
  KeyPtr key(
      PEM_read_bio_PrivateKey(source.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return FileError("--tls-key", path,
                     "holds no private key in PEM form without a password");
  }
  return key;
}

// Returns true if OpenSSL accepts the certificate for a server. gRPC would
// start with a rejected one, for example one with a short key, and fail every
// handshake.
bool IsAcceptedByOpenSsl(const std::vector<X509Ptr>& chain, EVP_PKEY* key) {
  const ContextPtr context(SSL_CTX_new(TLS_server_method()));
  bool accepted = context != nullptr &&
                  SSL_CTX_use_certificate(context.get(), chain[0].get()) == 1 &&
                  SSL_CTX_use_PrivateKey(context.get(), key) == 1;
  for (size_t i = 1; accepted && i < chain.size(); ++i) {
    accepted = SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) == 1;
  }
  ERR_clear_error();
  return accepted;
}

int64_t SecondsSince1970(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch())
      .count();
}

// Returns the time in seconds since 1970, or nullopt if it cannot be parsed.
std::optional<int64_t> ParseTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return timegm(&parts);
}

// Formats a time as RFC 3339 in UTC, with seconds.
std::string FormatTime(int64_t seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(seconds),
                          absl::UTCTimeZone());
}

// Returns the expiry of the certificate in seconds since 1970. Fails if the
// certificate is expired or not yet valid.
absl::StatusOr<int64_t> CheckValidity(
    const std::string& path, const X509& certificate,
    std::chrono::system_clock::time_point now) {
  const auto begin = ParseTime(X509_get0_notBefore(&certificate));
  const auto end = ParseTime(X509_get0_notAfter(&certificate));
  ERR_clear_error();
  if (!begin.has_value() || !end.has_value()) {
    return FileError("--tls-cert", path,
                     "holds a certificate whose validity cannot be parsed");
  }
  const int64_t seconds = SecondsSince1970(now);
  if (seconds > *end) {
    return FileError(
        "--tls-cert", path,
        absl::StrCat("holds a certificate that expired at ", FormatTime(*end)));
  }
  if (seconds < *begin) {
    return FileError(
        "--tls-cert", path,
        absl::StrCat("holds a certificate that is not valid before ",
                     FormatTime(*begin)));
  }
  return *end;
}

// Returns the SHA-256 of a certificate in hexadecimal.
std::string Fingerprint(const X509& certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest, &length) != 1) return "";
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), length));
}

absl::StatusOr<std::string> Read(absl::string_view flag,
                                 const std::string& path) {
  auto content = ReadSmallFile(path);
  if (content.ok()) return content;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", content.status().message()));
}

void LogIdentity(absl::string_view event, const TlsIdentity& identity,
                 std::chrono::system_clock::time_point now) {
  WriteLog(LogLine("info", event)
               .Add("sha256", identity.fingerprint)
               .Add("valid_seconds",
                    identity.not_after_seconds - SecondsSince1970(now)));
}

}  // namespace

absl::StatusOr<TlsIdentity> ReadTlsIdentity(
    const TlsFiles& files, std::chrono::system_clock::time_point now) {
  TlsIdentity identity;
  LOCUS_ASSIGN_OR_RETURN(identity.certificate,
                         Read("--tls-cert", files.certificate));
  LOCUS_ASSIGN_OR_RETURN(identity.key, Read("--tls-key", files.key));
  LOCUS_ASSIGN_OR_RETURN(
      const std::vector<X509Ptr> chain,
      ParseCertificates("--tls-cert", files.certificate, identity.certificate));
  LOCUS_ASSIGN_OR_RETURN(const KeyPtr key, ParseKey(files.key, identity.key));
  const bool match = X509_check_private_key(chain[0].get(), key.get()) == 1;
  ERR_clear_error();
  if (!match) {
    return FileError("--tls-key", files.key,
                     "is not the key of the certificate of --tls-cert");
  }
  if (!IsAcceptedByOpenSsl(chain, key.get())) {
    return FileError(
        "--tls-cert", files.certificate,
        "holds a certificate that OpenSSL does not serve; its key or "
        "digest may be too weak");
  }
  LOCUS_ASSIGN_OR_RETURN(identity.not_after_seconds,
                         CheckValidity(files.certificate, *chain[0], now));
  if (!files.client_ca.empty()) {
    LOCUS_ASSIGN_OR_RETURN(identity.client_ca,
                           Read("--tls-client-ca", files.client_ca));
    LOCUS_RETURN_IF_ERROR(ParseCertificates("--tls-client-ca", files.client_ca,
                                            identity.client_ca)
                              .status());
  }
  identity.fingerprint = Fingerprint(*chain[0]);
  return identity;
}

absl::StatusOr<std::unique_ptr<TlsStore>> TlsStore::Open(
    const TlsFiles& files) {
  std::unique_ptr<TlsStore> store(new TlsStore(files));
  std::vector<std::string> paths = {files.certificate, files.key};
  if (!files.client_ca.empty()) paths.push_back(files.client_ca);
  store->watcher_ = std::make_unique<FileWatcher>(
      paths, [raw = store.get()] { return raw->Reload(); });
  const auto now = std::chrono::system_clock::now();
  LOCUS_ASSIGN_OR_RETURN(TlsIdentity identity, ReadTlsIdentity(files, now));
  LogIdentity("certificate", identity, now);
  const absl::MutexLock lock(&store->mutex_);
  store->current_ = std::make_shared<const TlsIdentity>(std::move(identity));
  return store;
}

std::shared_ptr<const TlsIdentity> TlsStore::Current() const {
  const absl::MutexLock lock(&mutex_);
  return current_;
}

bool TlsStore::Reload() {
  const auto now = std::chrono::system_clock::now();
  absl::StatusOr<TlsIdentity> read = ReadTlsIdentity(files_, now);
  if (!read.ok()) {
    WriteLog(LogLine("error", "certificate_rejected")
                 .Add("error", read.status().message()));
    return false;
  }
  LogIdentity("certificate_reloaded", *read, now);
  const absl::MutexLock lock(&mutex_);
  current_ = std::make_shared<const TlsIdentity>(*std::move(read));
  return true;
}

}  // namespace locus::server
