// Ending a call from another thread.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}  // namespace grpc

namespace locus::client {

// Give one to a call in its CallOptions and call Cancel from anywhere but a
// signal handler. Once cancelled it stays so: calls that get it later end at
// once. Thread-safe; for one call at a time.
class Canceller {
 public:
  void Cancel();
  bool cancelled() const;

  // Waits, and returns early, with true, if cancelled.
  bool WaitFor(absl::Duration duration);

  // The call that Cancel ends, as long as this lives. `canceller` may be null.
  class Scope {
   public:
    Scope(Canceller* canceller, grpc::ClientContext* context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Canceller* const canceller_;
  };

 private:
  mutable std::mutex mutex_;
  std::condition_variable cancelled_changed_;
  bool cancelled_ = false;
  grpc::ClientContext* context_ = nullptr;
};

}  // namespace locus::client
