// grpc.health.v1: whether the server and each of its services serve.
//
// It is answered on the queues of the front. gRPC's own health service would
// have threads of its own poll every connection, and hand what they find there
// to the front's: that takes an eighth of the processor time of a small call.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/queue_event.h"

namespace locus::server {

class Health {
 public:
  // Names of services; the server as a whole is "".
  explicit Health(std::set<std::string> names) : names_(std::move(names)) {}
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  // Nothing serves until it is said to. For any thread, while the server is not
  // shut down.
  void SetServing(bool serving);

  grpc::Service* service() { return &service_; }
  // Takes calls from a queue, once the server is built.
  void Open(EventQueue* queue);

 private:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;
  class CheckCall;
  class WatchCall;

  bool Knows(const std::string& name) const { return names_.count(name) > 0; }
  // Expects the lock to be held.
  Status StatusOf(const std::string& name) const;

  const std::set<std::string> names_;
  grpc::health::v1::Health::AsyncService service_;
  std::mutex mutex_;
  bool serving_ = false;
  std::set<WatchCall*> watchers_;
};

}  // namespace locus::server
