// gRPC credentials of the server: TLS with reloadable certificates, and bearer
// tokens.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "server/net/authentication.h"
#include "server/net/tls.h"

namespace locus::server {

// Creates credentials that use TLS if `tls` is not null, else plaintext. If
// `auth` is not null, every call needs a token: of our services, of gRPC's own
// services, and of unknown methods. Both objects must outlive the gRPC server.
//
// The implementation uses gRPC's C interface, because the C++ interface can
// neither keep the old certificates if the new ones are broken, nor check the
// metadata of plaintext calls (docs/adr/0011-server-credentials.md).
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    const TlsStore* tls, const Authenticator* auth);

}  // namespace locus::server
