// What all RPCs have in common: bytes in, a call that is one scope, bytes out.
//
// gRPC answers a message it cannot parse with INTERNAL and tells nobody. Here a
// method takes bytes: what cannot be parsed is counted, logged and answered
// with INVALID_ARGUMENT like any other mistake, memory is reserved before
// parsing, and a call is one scope from its bytes to the end of its answer.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>

#include "absl/status/status.h"
#include "server/rpc/rpc_scope.h"
#include "server/rpc/wire/response.h"

namespace locus::server {

// Calls `handle` unless the server drains or no message came, and turns what it
// throws into a status.
absl::Status HandleSafely(Call& call, const grpc::ByteBuffer* request,
                          const std::function<absl::Status()>& handle);

// Reserves memory and parses; leaves `wire` empty.
absl::Status ParseRequest(Call& call, grpc::ByteBuffer* wire,
                          google::protobuf::Message* message);

// The bytes of a reply that may be sent; takes the attachments with it.
absl::Status SerializeReply(const Call& call,
                            const google::protobuf::Message& message,
                            Attachments* attachments, grpc::ByteBuffer* wire);

}  // namespace locus::server
