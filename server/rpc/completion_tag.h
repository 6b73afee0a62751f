// Tags of gRPC's completion queues.
//
// Each asynchronous operation of gRPC is started with a tag, a void pointer.
// The completion queue returns that tag when the operation has completed.
#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <memory>

namespace locus::server {

// Receives the completion of one operation. A poller calls Proceed() for every
// tag that its queue returns. The tag must outlive the operation.
class CompletionTag {
 public:
  // Handles the completion; `ok` is gRPC's success flag. Runs on the thread
  // that polls the queue, and may delete the object that contains the tag.
  virtual void Proceed(bool ok) = 0;

  // Converts to the pointer that gRPC stores. Call it right before the
  // operation starts.
  void* tag() {
    started_.store(true, std::memory_order_release);
    return this;
  }
  // Converts the pointer back, when the operation has completed.
  static CompletionTag* Of(void* tag) {
    auto* const completed = static_cast<CompletionTag*>(tag);
    (void)completed->started_.load(std::memory_order_acquire);
    return completed;
  }

 protected:
  ~CompletionTag() = default;

 private:
  // Orders what happened before the operation, on any thread, before its
  // completion. gRPC does so too, by locks that ThreadSanitizer does not see.
  std::atomic<bool> started_{false};
};

// A tag that calls a member function of its owner, which contains the tag.
template <typename Owner>
class MemberTag final : public CompletionTag {
 public:
  MemberTag(Owner* owner, void (Owner::*on_completion)(bool ok))
      : owner_(*owner), on_completion_(on_completion) {}
  void Proceed(bool ok) override { (owner_.*on_completion_)(ok); }

 private:
  Owner& owner_;
  void (Owner::*const on_completion_)(bool ok);
};

// A completion queue, and whether it is shut down, so that no operation may be
// started on it. Only the thread that polls the queue may read or write
// `is_closed`.
struct EventQueue {
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  bool is_closed = false;
};

}  // namespace locus::server
