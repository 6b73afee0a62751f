// The server's certificate, its key, and whom it trusts to certify clients.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "server/net/file_watcher.h"

namespace locus::server {

struct TlsFiles {
  std::string certificate;  // PEM, the server's first, then its issuers
  std::string key;          // PEM, without a password
  std::string client_ca;    // PEM; empty: clients need no certificate
};

// What the files hold, checked: every part parses, and the key is the one of
// the certificate.
struct TlsIdentity {
  std::string certificate;
  std::string key;
  std::string client_ca;
  // Of the server's certificate: when it ends, in seconds since 1970, and its
  // SHA-256 in hexadecimal, to tell it from the one before.
  int64_t not_after_seconds = 0;
  std::string fingerprint;
};
absl::StatusOr<TlsIdentity> ReadTlsIdentity(const TlsFiles& files);

// The identity of now. Files that change are read again, without a restart; if
// what they hold is no identity, the one before stays. Thread-safe.
class TlsStore {
 public:
  static absl::StatusOr<std::unique_ptr<TlsStore>> Open(const TlsFiles& files);

  std::shared_ptr<const TlsIdentity> Current() const;
  bool requires_client_certificate() const { return !files_.client_ca.empty(); }

 private:
  explicit TlsStore(TlsFiles files) : files_(std::move(files)) {}
  // Whether what the files hold now can be used.
  bool Reload();

  const TlsFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsIdentity> current_;  // guarded by mutex_
  // Last: its thread uses the rest.
  std::unique_ptr<WatchedFiles> watch_;
};

}  // namespace locus::server
