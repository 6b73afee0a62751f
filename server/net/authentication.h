// Authentication of calls by bearer tokens from a file (--auth-tokens).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/config/auth_exemptions.h"
#include "server/net/file_watcher.h"

namespace locus::server {

// SHA-256 of a token. The server stores and compares hashes only: they all have
// the same length, and timing the comparison of hashes reveals nothing about a
// token.
using TokenHash = std::array<unsigned char, 32>;
TokenHash HashToken(absl::string_view token);

// Parses a file of tokens, one per line. Empty lines and lines that begin with
// # are skipped. A token has 16 to 512 visible ASCII characters.
// INVALID_ARGUMENT if a line is not a token, or if there is no token at all.
// The message names the line by its number and never contains its text.
absl::StatusOr<std::vector<TokenHash>> ParseTokens(absl::string_view text);

// kMissing: the call has no bearer token. kWrong: its token is not in the file.
enum class AuthVerdict { kAllowed, kMissing, kWrong };

// Checks the tokens of calls against a file, which it reloads when the file
// changes. If the new content is invalid, the previous tokens stay valid.
// Thread-safe.
class Authenticator {
 public:
  // Reads the file and starts to watch it. INVALID_ARGUMENT if it cannot be
  // read or parsed.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Open(
      const std::string& path, const AuthExemptions& exemptions);

  // Checks a call of the method `method_path`, such as
  // /locus.v1.EncodingService/Encode. `authorization` is the value of the
  // header of that name, empty if there is none.
  AuthVerdict CheckCall(absl::string_view method_path,
                        absl::string_view authorization) const;
  // Checks a scrape of /metrics.
  AuthVerdict CheckMetrics(absl::string_view authorization) const;

  // Returns the total number of calls and scrapes rejected with `verdict`; 0
  // for kAllowed.
  int64_t rejected(AuthVerdict verdict) const;

 private:
  Authenticator(std::string path, const AuthExemptions& exemptions)
      : path_(std::move(path)), exemptions_(exemptions) {}
  using Tokens = std::vector<TokenHash>;
  absl::StatusOr<Tokens> Read() const;
  // Replaces the tokens with those of the file. Returns false and keeps the
  // previous ones if the file is invalid.
  bool Reload() ABSL_LOCKS_EXCLUDED(mutex_);
  AuthVerdict Check(absl::string_view authorization) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsExempt(absl::string_view method_path) const;

  const std::string path_;
  const AuthExemptions exemptions_;
  mutable std::atomic<int64_t> missing_{0};
  mutable std::atomic<int64_t> wrong_{0};
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Tokens> tokens_ ABSL_GUARDED_BY(mutex_);
  // Declared last, so that its thread ends before the other members do.
  std::unique_ptr<FileWatcher> watcher_;
};

}  // namespace locus::server
