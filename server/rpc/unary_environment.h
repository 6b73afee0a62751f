// Everything that the pollers and calls of the unary methods share.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "server/admission/blocking_pool.h"
#include "server/admission/controller.h"
#include "server/admission/oldest_deferred.h"
#include "server/rpc/server_state.h"
#include "server/rpc/unary_method.h"

namespace locus::server {

// Owned by UnaryServer; thread-safe as its members are.
struct UnaryEnvironment {
  UnaryEnvironment(ServerState* server_state,
                   std::vector<const UnaryMethod*> unary_methods,
                   size_t pollers)
      : state(*server_state),
        methods(std::move(unary_methods)),
        poller_count(pollers),
        admission({.threads = state.options.threads,
                   .max_read_calls = MaxReadCalls(state.options),
                   .max_queued_calls = state.options.max_queued_calls,
                   .max_queue_seconds = state.options.max_queue_seconds,
                   .memory_budget_bytes = state.options.memory_budget_bytes},
                  &state.limiter, &state.draining),
        oldest(pollers, methods.size()),
        workers({.threads = admission.max_active(),
                 .running = 4 * state.options.threads}) {}

  ServerState& state;
  const std::vector<const UnaryMethod*> methods;
  const size_t poller_count;
  AdmissionController admission;
  OldestDeferred oldest;
  // Declared last: its destructor waits for tasks that use the rest.
  BlockingPool workers;
};

}  // namespace locus::server
