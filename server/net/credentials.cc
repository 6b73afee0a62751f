#include "server/net/credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>

#include "absl/strings/string_view.h"

namespace locus::server {
namespace {

absl::string_view View(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
          GRPC_SLICE_LENGTH(slice)};
}

// gRPC's metadata processor: runs for every call before it is dispatched, and
// removes the token from the metadata, so that handlers never see it.
void CheckMetadata(void* state, grpc_auth_context*, const grpc_metadata* all,
                   size_t count, grpc_process_auth_metadata_done_cb done,
                   void* user_data) {
  absl::string_view path;
  const grpc_metadata* authorization = nullptr;
  int authorizations = 0;
  for (const grpc_metadata* one = all; one != all + count; ++one) {
    const absl::string_view key = View(one->key);
    if (key == ":path") path = View(one->value);
    if (key == "authorization") {
      authorization = one;
      ++authorizations;
    }
  }
  // Several authorization headers are ambiguous, so they count as none.
  const absl::string_view value =
      authorizations == 1 ? View(authorization->value) : "";
  const AuthVerdict verdict =
      static_cast<const Authenticator*>(state)->CheckCall(path, value);
  if (verdict != AuthVerdict::kAllowed) {
    done(user_data, nullptr, 0, nullptr, 0, GRPC_STATUS_UNAUTHENTICATED,
         verdict == AuthVerdict::kMissing
             ? "a bearer token is needed in the authorization metadata"
             : "the bearer token is not valid");
    return;
  }
  done(user_data, authorization, authorizations == 1 ? 1 : 0, nullptr, 0,
       GRPC_STATUS_OK, nullptr);
}

// Provides gRPC with the current certificates. gRPC asks for them when the
// server starts and before each handshake.
class CertificateFetcher {
 public:
  explicit CertificateFetcher(const TlsStore* store) : store_(*store) {}

  // Callback of gRPC, which never runs it concurrently.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<CertificateFetcher*>(self)->Next(config);
  }

 private:
  grpc_ssl_certificate_config_reload_status Next(
      grpc_ssl_server_certificate_config** config) {
    std::shared_ptr<const TlsIdentity> now = store_.Current();
    if (now == last_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {now->key.c_str(),
                                             now->certificate.c_str()};
    // gRPC requires client authorities even if it does not request client
    // certificates. It ignores them in that case.
    *config = grpc_ssl_server_certificate_config_create(
        now->client_ca.empty() ? now->certificate.c_str()
                               : now->client_ca.c_str(),
        &pair, 1);
    last_ = std::move(now);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const TlsStore& store_;
  // The identity that gRPC has received last.
  std::shared_ptr<const TlsIdentity> last_;
};

class Credentials final : public grpc::ServerCredentials {
 public:
  Credentials(const TlsStore* tls, const Authenticator* auth) {
    if (tls != nullptr) {
      fetcher_ = std::make_unique<CertificateFetcher>(tls);
      // gRPC offers TLS 1.2 and 1.3, and no older version.
      credentials_ = grpc_ssl_server_credentials_create_with_options(
          grpc_ssl_server_credentials_create_options_using_config_fetcher(
              tls->requires_client_certificate()
                  ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                  : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
              CertificateFetcher::Fetch, fetcher_.get()));
    } else {
      credentials_ = grpc_insecure_server_credentials_create();
    }
    if (auth != nullptr) {
      grpc_server_credentials_set_auth_metadata_processor(
          credentials_,
          {CheckMetadata, nullptr, const_cast<Authenticator*>(auth)});
    }
  }
  ~Credentials() override { grpc_server_credentials_release(credentials_); }

  // Does nothing: the constructor has set CheckMetadata().
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  std::unique_ptr<CertificateFetcher> fetcher_;
  grpc_server_credentials* credentials_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    const TlsStore* tls, const Authenticator* auth) {
  return std::make_shared<Credentials>(tls, auth);
}

}  // namespace locus::server
