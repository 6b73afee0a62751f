// One call of one answer, from gRPC's word that it is there to the last that is
// heard of it. Deletes itself then.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <list>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "server/rpc/rpc_scope.h"
#include "server/admission/concurrency_limiter.h"
#include "server/admission/adaptive_lifo_queue.h"
#include "server/admission/ewma.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/unary_method.h"

namespace locus::server {

class Door;
class Front;

// All but Work, and what it calls, happens on the door's thread.
class Incoming {
 public:
  using Clock = PaceClock;

  // Asks gRPC for a call of that method.
  Incoming(Door* door, size_t method);

  // Reads its message and handles it.
  void LetIn();
  void Refuse(const absl::Status& why);
  void Hold();

  // Lets others in beside a call whose message takes its time.
  void LeaveLane();
  // Ends a call whose message does not come.
  void GiveUp() { context_.TryCancel(); }

  const UnaryMethod& info() const;
  size_t method() const { return method_; }
  Clock::time_point came() const { return came_; }
  Clock::duration age() const { return Clock::now() - came_; }
  double deadline_in() const;
  Clock::duration read_for() const { return Clock::now() - let_in_; }
  // Whether it would find a place now.
  bool HasRoom() const;
  // Whether it would begin in time, and with time to spare, if it waited for so
  // long from now on; and when it would no longer, of one that is held.
  bool HasTimeFor(double wait, Clock::time_point now) const {
    return wait <= SecondsLeft(spare_seconds_, now);
  }
  Clock::time_point begin_by() const {
    return After(came_, SecondsLeft(spare_seconds_, came_));
  }
  // As that, by its own limit alone.
  bool DeadlineAllows(double wait) const;
  // Whether it has waited for as long as any may.
  bool HasWaitedLongEnough() const;

  // Of those that are held: in the crowd of its method, and the lane when it
  // was.
  Crowd<Incoming>::Place place;
  std::optional<Lane> held_lane() const { return held_lane_; }

 private:
  Front& front() const;

  // How long it may still wait, by our limits and by its own.
  double SecondsLeft(double spare, Clock::time_point now) const;

  // What gRPC tells of it; the last of these deletes it.
  void Arrived(bool ok);
  void Read(bool ok);
  void Sent(bool ok);
  void Ended(bool ok);

  // To count a call that nobody has begun to handle.
  std::unique_ptr<Call> CallToCount();
  // Its caller gave up while it was held, for want of a place.
  void CountGone();

  // On a worker. Once the answer is on its way, the call may be gone.
  void Work();

  // What is left is up to gRPC and the caller.
  void LeavePlace();
  void Leave();

  Door& door_;
  const size_t method_;
  grpc::ServerContext context_;
  UnaryStream stream_;
  grpc::ByteBuffer request_;
  // Counts the call, and holds its memory until the answer is sent.
  std::optional<Call> call_;
  std::optional<Lane> lane_;
  std::optional<Lane> held_lane_;
  Clock::time_point came_;
  double came_with_seconds_ = 0;  // until its deadline
  double spare_seconds_ = 0;
  Clock::time_point let_in_;
  Clock::time_point read_at_;
  Clock::duration held_for_{};
  std::list<Incoming*>::iterator watched_;
  std::atomic<bool> is_handled_ = false;
  bool is_let_in_ = false;
  bool is_held_ = false;
  bool is_sent_ = false;
  bool is_over_ = false;
  OwnEvent<Incoming> arrived_{this, &Incoming::Arrived};
  OwnEvent<Incoming> read_{this, &Incoming::Read};
  OwnEvent<Incoming> sent_{this, &Incoming::Sent};
  OwnEvent<Incoming> ended_{this, &Incoming::Ended};
};

}  // namespace locus::server
