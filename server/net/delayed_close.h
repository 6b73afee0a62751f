// Closes all connections of a listener if a shutdown takes too long.
#pragma once

#include <chrono>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "server/net/listener.h"

namespace locus::server {

// Calls Listener::CloseAll() after `delay`, unless it is destroyed before.
//
// gRPC's Shutdown() waits until every connection has ended, which a peer that
// does not read delays without limit: a cancelled call still has to be reported
// to the peer. Once its socket is shut down, gRPC gives up.
class DelayedClose {
 public:
  // Does nothing if `listener` is null.
  DelayedClose(Listener* listener, std::chrono::milliseconds delay);
  ~DelayedClose();
  DelayedClose(const DelayedClose&) = delete;
  DelayedClose& operator=(const DelayedClose&) = delete;

 private:
  Mutex mutex_;
  ConditionVariable ended_changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace locus::server
