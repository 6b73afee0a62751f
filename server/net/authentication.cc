#include "server/net/authentication.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "server/base/printable.h"
#include "server/observability/log.h"

namespace locus::server {
namespace {

// Shorter tokens could be guessed.
constexpr size_t kMinTokenBytes = 16;
constexpr size_t kMaxTokenBytes = 512;

bool IsToken(absl::string_view text) {
  return text.size() >= kMinTokenBytes && text.size() <= kMaxTokenBytes &&
         absl::c_all_of(text, absl::ascii_isgraph);
}

// Removes the scheme "Bearer", whose name is case-insensitive (RFC 9110,
// section 11.1). Returns false if the scheme is a different one.
bool ConsumeBearer(absl::string_view* text) {
  constexpr absl::string_view kScheme = "Bearer ";
  if (!absl::StartsWithIgnoreCase(*text, kScheme)) return false;
  text->remove_prefix(kScheme.size());
  *text = absl::StripAsciiWhitespace(*text);
  return true;
}

}  // namespace

TokenHash HashToken(absl::string_view token) {
  TokenHash hash{};
  EVP_Digest(token.data(), token.size(), hash.data(), nullptr, EVP_sha256(),
             nullptr);
  return hash;
}

absl::StatusOr<std::vector<TokenHash>> ParseTokens(absl::string_view text) {
  std::vector<TokenHash> tokens;
  int number = 0;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line[0] == '#') continue;
    if (!IsToken(line)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, " is no token; a token has ", kMinTokenBytes, " to ",
          kMaxTokenBytes, " visible ASCII characters and no spaces"));
    }
    tokens.push_back(HashToken(line));
  }
  if (tokens.empty()) return absl::InvalidArgumentError("holds no token");
  return tokens;
}

absl::StatusOr<std::unique_ptr<Authenticator>> Authenticator::Open(
    const std::string& path, const AuthExemptions& exemptions) {
  std::unique_ptr<Authenticator> result(new Authenticator(path, exemptions));
  result->watcher_ = std::make_unique<FileWatcher>(
      std::vector<std::string>{path},
      [raw = result.get()] { return raw->Reload(); });
  LOCUS_ASSIGN_OR_RETURN(Tokens tokens, result->Read());
  const absl::MutexLock lock(&result->mutex_);
  result->tokens_ = std::make_shared<const Tokens>(std::move(tokens));
  return result;
}

absl::StatusOr<Authenticator::Tokens> Authenticator::Read() const {
  const auto text = ReadSmallFile(path_);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--auth-tokens: ", text.status().message()));
  }
  auto tokens = ParseTokens(*text);
  if (!tokens.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--auth-tokens: ", Printable(path_, 200), ": ",
                     tokens.status().message()));
  }
  return tokens;
}

bool Authenticator::Reload() {
  absl::StatusOr<Tokens> read = Read();
  if (!read.ok()) {
    WriteLog(LogLine("error", "tokens_rejected")
                 .Add("error", read.status().message()));
    return false;
  }
  WriteLog(LogLine("info", "tokens_reloaded")
               .Add("count", static_cast<int64_t>(read->size())));
  const absl::MutexLock lock(&mutex_);
  tokens_ = std::make_shared<const Tokens>(*std::move(read));
  return true;
}

bool Authenticator::IsExempt(absl::string_view method_path) const {
  return (exemptions_.health &&
          absl::StartsWith(method_path, "/grpc.health.v1.Health/")) ||
         (exemptions_.reflection &&
          absl::StartsWith(method_path, "/grpc.reflection."));
}

AuthVerdict Authenticator::CheckCall(absl::string_view method_path,
                                     absl::string_view authorization) const {
  if (IsExempt(method_path)) return AuthVerdict::kAllowed;
  return Check(authorization);
}

AuthVerdict Authenticator::CheckMetrics(absl::string_view authorization) const {
  if (exemptions_.metrics) return AuthVerdict::kAllowed;
  return Check(authorization);
}

// Compares with every token in constant time, even after a match, so that the
// duration reveals nothing about the tokens.
AuthVerdict Authenticator::Check(absl::string_view authorization) const {
  if (!ConsumeBearer(&authorization) || authorization.empty()) {
    ++missing_;
    return AuthVerdict::kMissing;
  }
  const std::shared_ptr<const Tokens> tokens = [this] {
    const absl::MutexLock lock(&mutex_);
    return tokens_;
  }();
  const TokenHash given = HashToken(authorization);
  int found = 0;
  for (const TokenHash& token : *tokens) {
    found |= CRYPTO_memcmp(token.data(), given.data(), given.size()) == 0;
  }
  if (found != 0) return AuthVerdict::kAllowed;
  ++wrong_;
  return AuthVerdict::kWrong;
}

int64_t Authenticator::rejected(AuthVerdict verdict) const {
  if (verdict == AuthVerdict::kMissing) return missing_;
  return verdict == AuthVerdict::kWrong ? wrong_.load() : 0;
}

}  // namespace locus::server
