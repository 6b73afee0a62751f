// Who may call: bearer tokens from a file.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/net/file_watcher.h"

namespace locus::server {

// What may be asked without a token although there are tokens.
struct AuthExemptions {
  bool health = false;      // grpc.health.v1
  bool reflection = false;  // grpc.reflection
  bool metrics = false;     // GET /metrics
};
// From names with commas between them, such as "health,metrics".
absl::StatusOr<AuthExemptions> ParseAuthExemptions(absl::string_view text);

// SHA-256 of a token. Only these are kept, and compared: they are all of one
// length, and to find one bit by bit tells nothing of the token.
using TokenHash = std::array<unsigned char, 32>;
TokenHash HashToken(absl::string_view token);

// One token per line; empty lines and lines that begin with # are skipped. A
// token has 16 to 512 visible ASCII characters. INVALID_ARGUMENT, which names
// the line and never what stands there, if one is something else, or if there
// is none at all.
absl::StatusOr<std::vector<TokenHash>> ParseTokens(absl::string_view text);

enum class AuthVerdict { kAllowed, kMissing, kWrong };

// Says of a call whether it may be made. Thread-safe.
class Authenticator {
 public:
  // Reads the file again whenever it changes; if what it then holds cannot be
  // used, the tokens before stay.
  static absl::StatusOr<std::unique_ptr<Authenticator>> Open(
      const std::string& path, const AuthExemptions& exemptions);

  // `authorization` is the header's value, empty if there was none.
  AuthVerdict CheckCall(absl::string_view method_path,
                        absl::string_view authorization) const;
  AuthVerdict CheckMetrics(absl::string_view authorization) const;

  // Calls that were refused so far.
  int64_t refused(AuthVerdict verdict) const;

 private:
  Authenticator(std::string path, const AuthExemptions& exemptions)
      : path_(std::move(path)), exemptions_(exemptions) {}
  using Tokens = std::vector<TokenHash>;
  absl::StatusOr<Tokens> Read() const;
  // Whether what the files hold now can be used.
  bool Reload();
  AuthVerdict Check(absl::string_view authorization) const;
  bool IsExempt(absl::string_view method_path) const;

  const std::string path_;
  const AuthExemptions exemptions_;
  mutable std::atomic<int64_t> missing_{0};
  mutable std::atomic<int64_t> wrong_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const Tokens> tokens_;  // guarded by mutex_
  // Last: its thread uses the rest.
  std::unique_ptr<WatchedFiles> watch_;
};

}  // namespace locus::server
