// grpc.health.v1: whether the server and each of its services serve.
//
// Its events happen on a queue of the front's: with one of its own a second
// thread polled beside the front's, and the two woke each other up for every
// call that came. That the front comes before who computes keeps answers within
// a tenth of a second in a crowd (`./run storm --case tiny`).
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/rpc/completion_tag.h"

namespace locus::server {

class Health final : public grpc::health::v1::Health::AsyncService {
 public:
  // Names of services; the server as a whole is "".
  explicit Health(std::set<std::string> names) : names_(std::move(names)) {}

  // Once the server is built. Events of `queue` have to happen until it is
  // closed and empty.
  void Start(EventQueue* queue);

  // Nothing serves until it is said to. For any thread, while the server is not
  // shut down.
  void SetServing(bool serving);

 private:
  using ServingStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;
  class CheckCall;
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
