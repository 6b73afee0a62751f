// Everything that the calls of a server share.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "server/admission/scheduler.h"
#include "server/rpc/drain.h"
#include "server/rpc/method.h"
#include "server/rpc/server_state.h"
#include "server/rpc/stream_threads.h"

namespace locus::server {

// Owned by RpcServer; thread-safe as its members are.
struct RpcEnvironment {
  RpcEnvironment(ServerState* server_state,
                 const std::vector<const Method*>& methods);

  // A method, and its number in AdmissionPolicy.
  struct Entry {
    const Method* method;
    size_t index;
  };
  // Null if there is no such method.
  const Entry* Find(const std::string& path) const;

  ServerState& state;
  absl::flat_hash_map<std::string, Entry> methods;  // by path
  // All calls arrive here (docs/adr/0014-generic-service.md).
  grpc::AsyncGenericService service;
  // Calls that have completion events to come.
  CallCounter open_calls;
  // Declared last: their destructors wait for tasks that use the rest.
  StreamThreads stream_threads;
  Scheduler scheduler;
};

}  // namespace locus::server
