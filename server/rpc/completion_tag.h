// What gRPC's completion queues tell of.
#pragma once

#include <grpcpp/completion_queue.h>

#include <memory>

namespace locus::server {

class QueueEvent {
 public:
  // On the queue's own thread. May delete whatever it is part of.
  virtual void Happen(bool ok) = 0;

  // What gRPC is handed, and hands back.
  void* tag() { return this; }
  static QueueEvent* Of(void* tag) { return static_cast<QueueEvent*>(tag); }

 protected:
  ~QueueEvent() = default;
};

// Calls a member function of its owner.
template <typename Owner>
class OwnEvent final : public QueueEvent {
 public:
  OwnEvent(Owner* owner, void (Owner::*happen)(bool ok))
      : owner_(*owner), happen_(happen) {}
  void Happen(bool ok) override { (owner_.*happen_)(ok); }

 private:
  Owner& owner_;
  void (Owner::*const happen_)(bool ok);
};

// A queue, and whether nothing may be asked of gRPC there any more, which only
// its own thread may look at.
struct EventQueue {
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  bool is_closed = false;
};

}  // namespace locus::server
