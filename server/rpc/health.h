// grpc.health.v1.Health: the serving status of the server and of each service.
//
// Health checks are processed by a poller of the unary methods, which runs at a
// higher priority than the compute threads, so that they are answered under
// overload too (see docs/adr/0003-polling-threads-and-priorities.md).
#pragma once

#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/net/connection_guard.h"
#include "server/rpc/completion_tag.h"

namespace locus::server {

// Implements Check and Watch with gRPC's asynchronous API. Not serving until
// SetServing(true).
class Health final : public grpc::health::v1::Health::AsyncService {
 public:
  static constexpr char kName[] = "grpc.health.v1.Health";

  // `names` are the full names of the services; "" is the server as a whole.
  // `connections` must outlive it.
  Health(std::set<std::string> names, ConnectionGuard* connections)
      : names_(std::move(names)), connections_(*connections) {}

  // Open Watch calls. Further calls are rejected with RESOURCE_EXHAUSTED.
  static constexpr int kMaxWatches = 1024;

  // Starts accepting calls; call it once the gRPC server is built. The events
  // of `queue` must be processed until the queue is closed and empty.
  void Start(EventQueue* queue);

  // Sets the status of all services, and sends it to all Watch calls.
  // Thread-safe. Must not be called once the gRPC server is shut down.
  void SetServing(bool serving) ABSL_LOCKS_EXCLUDED(mutex_);

  // Thread-safe.
  int open_watches() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return static_cast<int>(watchers_.size());
  }

 private:
  using ServingStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;
  class CheckCall;
  class WatchCall;

  bool Knows(const std::string& name) const { return names_.count(name) > 0; }
  ServingStatus StatusOf(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::set<std::string> names_;
  ConnectionGuard& connections_;
  mutable absl::Mutex mutex_;
  bool serving_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<WatchCall*> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server
