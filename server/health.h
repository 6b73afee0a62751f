// grpc.health.v1: whether the server and each of its services serve.
//
// It has a queue and a thread of its own: behind the calls of a crowd its
// answers took a quarter of a second. gRPC's own health service has two
// threads, which run what the callback API does besides.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/server_builder.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/queue_event.h"

namespace locus::server {

class Health {
 public:
  // Names of services; the server as a whole is "".
  explicit Health(std::set<std::string> names) : names_(std::move(names)) {}
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  ~Health();

  // Before the server is built.
  void AddTo(grpc::ServerBuilder* builder);
  // Once it is.
  void Start();
  // Once it has been shut down.
  void Shutdown();

  // Nothing serves until it is said to. For any thread, while the server is not
  // shut down.
  void SetServing(bool serving);

 private:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;
  class CheckCall;
  class WatchCall;

  bool Knows(const std::string& name) const { return names_.count(name) > 0; }
  void Run();
  // Expects the lock to be held.
  Status StatusOf(const std::string& name) const;

  const std::set<std::string> names_;
  grpc::health::v1::Health::AsyncService service_;
  std::mutex mutex_;
  bool serving_ = false;
  std::set<WatchCall*> watchers_;
  EventQueue queue_;
  grpc::Alarm closing_;  // has no tag
  std::thread thread_;
};

}  // namespace locus::server
