// The server's TLS identity: certificate, private key, and the authorities that
// it trusts for client certificates. Reloaded when the files change.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/net/file_watcher.h"

namespace locus::server {

// Paths of the files, all in PEM form.
struct TlsFiles {
  std::string certificate;  // the server's certificate, then its issuers
  std::string key;        // private key of the certificate, without a password
  std::string client_ca;  // empty: clients need no certificate
};

// Content of the files. ReadTlsIdentity() has checked that all parts parse,
// that the key belongs to the certificate, that OpenSSL accepts both, and that
// the server's certificate was valid at that time.
struct TlsIdentity {
  std::string certificate;
  std::string key;
  std::string client_ca;
  // Expiry of the server's certificate, in seconds since 1970.
  int64_t not_after_seconds = 0;
  // SHA-256 of the server's certificate, in hexadecimal.
  std::string fingerprint;
};
// Reads and checks the files. INVALID_ARGUMENT names the flag, the file and the
// problem. A certificate that is expired or not yet valid at `now` is a
// problem, because clients would reject it. Only the server's own certificate
// counts: chains may contain an expired issuer that clients do not need.
absl::StatusOr<TlsIdentity> ReadTlsIdentity(
    const TlsFiles& files, std::chrono::system_clock::time_point now);

// Holds the current identity and replaces it when the files change, without a
// restart. If the new files are invalid, the previous identity stays in use,
// even if it has expired, and the files are read again every
// ReloadPolicy::kRetryInterval. A certificate that is not yet valid is thus
// loaded once it becomes valid. Thread-safe.
class TlsStore {
 public:
  // Reads the files and starts to watch them. INVALID_ARGUMENT as for
  // ReadTlsIdentity().
  static absl::StatusOr<std::unique_ptr<TlsStore>> Open(const TlsFiles& files);

  // Never null.
  std::shared_ptr<const TlsIdentity> Current() const
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool requires_client_certificate() const { return !files_.client_ca.empty(); }

 private:
  explicit TlsStore(TlsFiles files) : files_(std::move(files)) {}
  // Replaces the identity with that of the files. Returns false and keeps the
  // previous one if the files are invalid.
  bool Reload() ABSL_LOCKS_EXCLUDED(mutex_);

  const TlsFiles files_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const TlsIdentity> current_ ABSL_GUARDED_BY(mutex_);
  // Declared last, so that its thread ends before the other members do.
  std::unique_ptr<FileWatcher> watcher_;
};

}  // namespace locus::server
