// Functions of connected sockets.
#pragma once

#include <optional>
#include <string>

#include "server/net/connection_guard.h"

namespace locus::server {

// Returns the address of the peer of a TCP connection in the form of
// grpc::ServerContext::peer(): "ipv4:192.0.2.1:80", "ipv6:%5B::1%5D:80". Empty
// if it is not a TCP connection.
std::string PeerOf(int connection);

// Returns the bytes that a TCP connection has received and sent, or nothing if
// the system does not say.
std::optional<ConnectionGuard::SocketBytes> SocketBytesOf(int connection);

// Shuts the connection down for all of its descriptors, and discards the bytes
// that were received and not read. shutdown(2) alone leaves them to be read.
// Returns false if the connection had ended before.
bool ShutDown(int connection);

}  // namespace locus::server
