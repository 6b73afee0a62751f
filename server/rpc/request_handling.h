// Steps that the handlers of all methods share: parse the request within the
// memory budget, run the handler, and serialise the response.
//
// gRPC's generated code answers a request that does not parse with INTERNAL,
// before any handler runs. Methods of this server receive the request as bytes
// instead, so that a malformed request is counted, logged and answered with
// INVALID_ARGUMENT like any other invalid request, and so that memory is
// reserved before parsing.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/rpc/rpc_scope.h"
#include "server/rpc/wire/response.h"

namespace locus::server {

// Calls `handle` and converts exceptions to a status.
absl::Status HandleSafely(absl::FunctionRef<absl::Status()> handle);

// Reserves memory for the parsed message, parses `wire`, and clears it.
absl::Status ParseRequest(RpcScope& call, grpc::ByteBuffer* wire,
                          google::protobuf::Message* message);

// Serialises the response. Moves the tensors into `wire`. RESOURCE_EXHAUSTED if
// the response is larger than --max-message-bytes.
absl::Status SerializeResponse(const RpcScope& call,
                               const google::protobuf::Message& message,
                               ZeroCopyTensors* tensors,
                               grpc::ByteBuffer* wire);

}  // namespace locus::server
