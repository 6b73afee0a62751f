// How a client proves who it is, and asks a server to.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class Channel;
class ChannelArguments;
class ChannelCredentials;
}  // namespace grpc

namespace locus::client {

// Files are in PEM form. Any of those of TLS asks for TLS.
struct SecurityOptions {
  // TLS; without it, plaintext.
  bool tls = false;
  // Who may certify the server; empty: whom the system trusts.
  std::string ca_file = "";
  // What the client shows if the server asks; both or none.
  std::string certificate_file = "";
  std::string key_file = "";
  // The name the server's certificate has to have; empty: that of the address.
  std::string server_name = "";
  // A bearer token for every call: the first line that is not empty and does
  // not begin with #. Read again when the file changes.
  std::string token_file = "";
  // Whether the token may go to another machine in plaintext.
  bool allow_plaintext_token = false;

  bool UsesTls() const {
    return tls || !ca_file.empty() || !certificate_file.empty() ||
           !key_file.empty() || !server_name.empty();
  }
};

class TokenFile;

// Makes channels that keep to the options. Thread-safe.
class Security {
 public:
  // INVALID_ARGUMENT if files are missing or options do not fit each other.
  // Never less than what was asked for: there is no falling back to plaintext.
  static absl::StatusOr<std::shared_ptr<const Security>> Load(
      const SecurityOptions& options);
  ~Security();

  // INVALID_ARGUMENT if the token would leave the machine in plaintext.
  absl::Status CheckAddress(const std::string& address) const;

  std::shared_ptr<grpc::Channel> MakeChannel(
      const std::string& address, grpc::ChannelArguments arguments) const;

  // Whether gRPC's own calls, such as its health checks, carry the token.
  bool covers_every_call() const {
    return token_ == nullptr || options_.UsesTls();
  }

 private:
  explicit Security(const SecurityOptions& options);

  const SecurityOptions options_;
  std::shared_ptr<TokenFile> token_;  // null: none
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
};

}  // namespace locus::client
