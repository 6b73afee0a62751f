// What a connection has to show before it is served, in gRPC's terms.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "server/net/authentication.h"
#include "server/net/tls.h"

namespace locus::server {

// TLS if there is `tls`, else plaintext; tokens for every method of every
// service, gRPC's own and unknown ones included, if there is `auth`. Both may
// be null, and must outlive the server.
//
// Made of gRPC's C interface, since its C++ one knows neither a fetcher of
// certificates that keeps the old ones when the new ones are broken, nor a look
// at the metadata of calls that come in plaintext.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    const TlsStore* tls, const Authenticator* auth);

}  // namespace locus::server
