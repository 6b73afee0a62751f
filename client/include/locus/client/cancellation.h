// Cancellation of a call from another thread.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}  // namespace grpc

namespace locus::client {

// Cancels a call from another thread. Pass a pointer to a token in
// CallOptions::cancellation and call Cancel(); the call then returns CANCELLED.
//
// A token cannot be reset: a call that starts with a cancelled token returns
// CANCELLED at once. A token serves one call at a time and must outlive it.
//
// Thread-safe. Not async-signal-safe: do not call Cancel() in a signal handler.
class CancellationToken {
 public:
  void Cancel();
  bool cancelled() const;

  // Blocks for `duration`, or until the token is cancelled. Returns true if the
  // token is cancelled.
  bool WaitFor(absl::Duration duration);

  // Connects a token to the gRPC context of a call for the lifetime of the
  // scope, so that Cancel() cancels the context. `token` may be null.
  class Scope {
   public:
    Scope(CancellationToken* token, grpc::ClientContext* context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CancellationToken* const token_;
  };

 private:
  // std::mutex, because users of this header would have to link
  // absl::synchronization otherwise, and because WaitFor() measures time with
  // the steady clock. It guards the members below, without annotations.
  mutable std::mutex mutex_;
  std::condition_variable cancelled_changed_;
  bool cancelled_ = false;
  grpc::ClientContext* context_ = nullptr;
};

}  // namespace locus::client
