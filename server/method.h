// What all RPCs have in common: bytes in, a call that is one scope, bytes out.
//
// gRPC answers a message it cannot parse with INTERNAL and tells nobody. Here a
// method takes bytes: what cannot be parsed is counted, logged and answered
// with INVALID_ARGUMENT like any other mistake, memory is reserved before
// parsing, and a call is one scope from its bytes to the end of its answer.
//
// Why the synchronous API: `server_api_bench 9` (tests/server) serves the same
// method by all three on loopback, two workers. On two shared cores of an AMD
// EPYC, gRPC 1.51.1, load average 8 from other work, in microseconds:
//
//                     back to back     after 2 s idle   health, workers busy
//                     p50     p99      p50     max      p50     max
//   sync              233     5570     502     652      577     715
//   callback          244     5548     562     931      no answer in 2 s
//   completion queue  180     4008     531     753      498     4457
//
// Latencies do not tell them apart beyond the noise of that machine, after idle
// seconds included. Blocked handlers do: the callback API runs them on the
// process's one small pool, which also answers grpc.health.v1, so that busy
// handlers silence health checks unless each hands its work to other threads.
// Synchronous handlers have threads of their own, and may simply wait for a
// slot. The price is a thread for each waiting call, which ResourceQuota
// bounds. Watch streams of the health service run on the callback pool: ninety
// open ones added no thread. Reflection streams take one each.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>

#include "absl/status/status.h"
#include "server/call.h"
#include "server/reply.h"

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
