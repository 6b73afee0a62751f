// State that all calls of one server share.
#pragma once

#include "core/parallel/thread_pool.h"
#include "server/admission/memory_budget.h"
#include "server/admission/scheduler.h"
#include "server/base/version.h"
#include "server/config/options.h"
#include "server/net/connection_guard.h"
#include "server/observability/call_log_sampler.h"
#include "server/observability/metrics.h"
#include "server/rpc/drain.h"

namespace locus::server {

// HTTP/2 flow-control window of a stream until its message is read: the bytes
// that a client may send before the call is admitted. Larger messages take
// another round trip. The HTTP/2 default of 64 KiB wastes time on bytes of
// rejected calls (docs/adr/0002-defer-calls-before-reading.md).
inline constexpr int kUnreadWindowBytes = 16'384;

// Owned by Server, and outlives all calls. Thread-safe as its members are.
struct ServerState {
  // `resolved` are options whose defaults have been filled in.
  explicit ServerState(const ServerOptions& resolved)
      : options(resolved),
        metrics(Version()),
        budget(resolved.memory_budget_bytes),
        connections({.max_streams = resolved.max_streams,
                     .metadata_bytes = resolved.max_metadata_bytes,
                     .unread_bytes = kUnreadWindowBytes,
                     .message_bytes = resolved.max_message_bytes},
                    &budget),
        pool(resolved.threads, LowerThreadPriority) {}

  const ServerOptions options;
  Metrics metrics;
  MemoryBudget budget;
  ConnectionGuard connections;
  CallLogSampler call_log;
  ThreadPool pool;  // computes
  DrainState drain;
};

}  // namespace locus::server
