// grpc.health.v1.Health: the serving status of the server and of each service.
//
// Health checks are processed by a poller of the unary methods, which runs at a
// higher priority than the compute threads, so that they are answered under
// overload too (see docs/adr/0003-polling-threads-and-priorities.md).
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/rpc/completion_tag.h"

namespace locus::server {

// Implements Check and Watch with gRPC's asynchronous API. Not serving until
// SetServing(true).
class Health final : public grpc::health::v1::Health::AsyncService {
 public:
  // `names` are the full names of the services; "" is the server as a whole.
  explicit Health(std::set<std::string> names) : names_(std::move(names)) {}

  // Starts accepting calls; call it once the gRPC server is built. The events
  // of `queue` must be processed until the queue is closed and empty.
  void Start(EventQueue* queue);

  // Sets the status of all services, and sends it to all Watch calls.
  // Thread-safe. Must not be called once the gRPC server is shut down.
  void SetServing(bool serving);

 private:
  using ServingStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;
  class CheckCall;
  class WatchCall;

  bool Knows(const std::string& name) const { return names_.count(name) > 0; }
  // Requires mutex_.
  ServingStatus StatusOf(const std::string& name) const;

  const std::set<std::string> names_;
  std::mutex mutex_;
  bool serving_ = false;           // guarded by mutex_
  std::set<WatchCall*> watchers_;  // guarded by mutex_
};

}  // namespace locus::server
