// Where calls come in: one of gRPC's queues, and the thread that attends to it.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <chrono>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "server/admission/adaptive_lifo_queue.h"
#include "server/rpc/unary_call.h"
#include "server/admission/ewma.h"
#include "server/rpc/completion_tag.h"

namespace locus::server {

class Front;

class Door {
 public:
  // How often calls that are held are looked at when nothing else happens.
  static constexpr std::chrono::milliseconds kLook{20};

  Door(Front* front, size_t number,
       std::unique_ptr<grpc::ServerCompletionQueue> queue, int door_count);
  // Once no call is handled or held.
  ~Door();

  void Start();

  Front& front() { return front_; }
  grpc::ServerCompletionQueue* queue() { return queue_.queue.get(); }
  EventQueue* events() { return &queue_; }
  // Whether nothing may be asked of gRPC any more.
  bool is_closed() const { return queue_.is_closed; }

  // What becomes of a call that has just come. The door's own thread only, as
  // are all of these.
  void Arrive(Incoming* call);
  // A call that is held has gone away.
  void Forget(Incoming* call);
  // Keeps an eye on a call whose message is being read.
  std::list<Incoming*>::iterator Watch(Incoming* call);
  void Unwatch(std::list<Incoming*>::iterator call) { reading_.erase(call); }

 private:
  void Run();
  grpc::CompletionQueue::NextStatus AwaitNext(void** tag, bool* ok);
  void CountHeld(const Incoming& call, int change);
  // Lets in, or turns away, who has been held for long enough.
  void TendHeld();
  bool LetOneIn(size_t method);
  void TurnAwayWhoWaitedTooLong();
  // Tells the other doors who of this one is next.
  void TellOldest();
  // How long such a call would wait, at the door and inside.
  double WaitOf(const Incoming& call) const;
  // Sends away who has been read for too long.
  void TendReading();

  Front& front_;
  const size_t number_;
  EventQueue queue_;
  std::vector<Allowance> allowances_;  // of each lane
  std::vector<Crowd<Incoming>> held_;  // of each method
  int held_count_ = 0;
  size_t next_tended_ = 0;        // the method whose held calls are next
  size_t next_to_leave_ = 0;      // the same, of those that wait no longer
  bool has_more_to_do_ = false;   // whatever happens or not
  bool has_told_ = false;         // the other doors that somebody waits
  std::list<Incoming*> reading_;  // oldest first
  grpc::Alarm closing_;           // has no tag
  std::thread thread_;
};

}  // namespace locus::server
