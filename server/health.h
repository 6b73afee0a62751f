// grpc.health.v1: whether the server and each of its services serve.
//
// Whoever asks once is answered by a thread of gRPC's that waits for nothing
// else: behind the calls of a crowd answers took a quarter of a second. That
// thread does not poll; whoever keeps watching is told on a queue that is
// polled anyway. With a polling thread of its own beside the front's, the two
// woke each other up for every call that came.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/queue_event.h"

namespace locus::server {

class Health final : public grpc::health::v1::Health::WithAsyncMethod_Watch<
                         grpc::health::v1::Health::Service> {
 public:
  // Names of services; the server as a whole is "".
  explicit Health(std::set<std::string> names) : names_(std::move(names)) {}

  // Once the server is built. Events of `queue` have to happen until it is
  // closed and empty.
  void Start(EventQueue* queue);

  // Nothing serves until it is said to. For any thread, while the server is not
  // shut down.
  void SetServing(bool serving);

  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override;

 private:
  using ServingStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;
  class WatchCall;

  bool Knows(const std::string& name) const { return names_.count(name) > 0; }
  // Expects the lock to be held.
  ServingStatus StatusOf(const std::string& name) const;

  const std::set<std::string> names_;
  std::mutex mutex_;
  bool serving_ = false;
  std::set<WatchCall*> watchers_;
};

}  // namespace locus::server
