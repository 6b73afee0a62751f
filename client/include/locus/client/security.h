// TLS and bearer-token authentication of a client.
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

// Security settings of a client. All files are in PEM format. Setting any of
// the TLS fields enables TLS.
struct SecurityOptions {
  // Enables TLS; false uses plaintext unless another TLS field is set.
  bool tls = false;
  // CA certificates to verify the server with; empty uses the system's.
  std::string ca_file = "";
  // Client certificate and private key for mutual TLS. Set both or neither.
  std::string certificate_file = "";
  std::string key_file = "";
  // Host name expected in the server's certificate; empty uses the host name of
  // the address.
  std::string server_name = "";
  // File with the bearer token that is sent with every call. The token is the
  // first line that is not empty and does not begin with #. The file is read
  // again when it changes.
  std::string token_file = "";
  // Allows the token to be sent to another machine in plaintext.
  bool allow_plaintext_token = false;

  bool UsesTls() const {
    return tls || !ca_file.empty() || !certificate_file.empty() ||
           !key_file.empty() || !server_name.empty();
  }
};

class TokenFile;

// Creates channels with the configured credentials. Thread-safe.
class Security {
 public:
  // Loads certificates and token. INVALID_ARGUMENT if a file is missing or the
  // options contradict each other. Never falls back to plaintext.
  static absl::StatusOr<std::shared_ptr<const Security>> Load(
      const SecurityOptions& options);
  ~Security();

  // Returns INVALID_ARGUMENT if a call to `address` would send the token to
  // another machine in plaintext.
  absl::Status CheckAddress(const std::string& address) const;

  std::shared_ptr<grpc::Channel> MakeChannel(
      const std::string& address, grpc::ChannelArguments arguments) const;

  // Whether the calls that gRPC makes itself, such as client-side health
  // checks, are authenticated. A plaintext token is not attached to them.
  bool covers_every_call() const {
    return token_ == nullptr || options_.UsesTls();
  }

 private:
  explicit Security(const SecurityOptions& options);

  const SecurityOptions options_;
  std::shared_ptr<TokenFile> token_;  // Null without a token.
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
};

}  // namespace locus::client
