// Where calls of one answer come in: some are let through to threads that may
// wait, some are turned away, and some are held at the door.
//
// A call is known before its message is read. If its method's calls usually
// find a place soon, the message is read and a worker handles it. If they do
// not, it is held, neither read nor answered, and let in as places become free,
// the first to come first. What is held takes no thread and little memory, and
// the streams it takes up keep its connection from sending more.
//
// A call that would be held for too long, by our limits or by its own, is
// turned away at once. That costs gRPC about a tenth of a millisecond on both
// sides, and whoever is turned away makes room for the next: under ten times
// what a server can do, it would do nothing else. So only so many are turned
// away in a second, and the rest are held for as long as any may wait.
//
// Where many of those have little time left, the last to come is let in first:
// under such load all have waited in the client already, which sends the oldest
// first, and who has been held is likely to give up before it is answered. To
// let the first in first then did less in storms of a minute (`./run storm
// --case attend`: 78 % of the peak at twice its rate).
//
// A message may take its time, but not its place for long: after a while others
// are let in beside it, and if those that take their time still keep others
// out, the slowest are sent away. An answer that its caller does not read takes
// up memory, but nobody's place.
//
// Why a completion queue: synchronous methods read every message, wake a thread
// for each call and wait on a queue of its own, so that turning one away took a
// third of a millisecond of a processor that has better things to do (`./run
// storm --case middle`, two cores of an Ice Lake server, gRPC 1.51.1). The
// callback API runs handlers on gRPC's one small pool, which answered health
// checks, too; with handlers that wait they got no answer in 2 s
// (`server_api_bench 9`).
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/admission/concurrency_limiter.h"
#include "server/admission/ewma.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/server_state.h"
#include "server/rpc/unary_method.h"
#include "server/admission/blocking_pool.h"

namespace locus::server {

class Door;      // of one thread
class Incoming;  // a call

class Front {
 public:
  // Methods have to outlive it.
  Front(ServerState* state, std::vector<const UnaryMethod*> methods);
  ~Front();

  // Before the server is built.
  void AddQueues(grpc::ServerBuilder* builder);
  // Once it is.
  void Start();
  // Once it has been shut down; waits for what is left.
  void Shutdown();

  // For events of others; its thread makes them happen until it is closed.
  EventQueue* first_queue();

  // Calls that are held at the door.
  int held() const { return held_; }

 private:
  using Clock = PaceClock;
  friend class Door;
  friend class Incoming;

  // Whether a call that may wait for so long would find a place now, and what
  // one is told that would have to wait for too long.
  bool HasRoom(const UnaryMethod& method, double seconds) const;
  absl::Status WhyNoRoom(const Incoming& call, double wait) const;
  // Whether one more may wait beside those that do.
  bool MayWait(const UnaryMethod& method) const;
  // How long it would wait for a slot, and how long calls like it take at that,
  // as far as is known.
  double WaitInside(const UnaryMethod& method) const;
  double Pace(const UnaryMethod& method) const;
  // When the call came that is next at a door; and whether one that came
  // notably earlier than `came` is next at another. Places become free at one
  // door after the other, but are for all.
  void TellOldest(size_t door, size_t method, Clock::time_point came);
  bool IsOlderElsewhere(size_t door, size_t method,
                        Clock::time_point came) const;
  // Calls of that lane that were let in and have not left.
  int ActiveIn(Lane lane) const {
    return active_in_lane_[static_cast<size_t>(lane)];
  }

  ServerState& state_;
  const std::vector<const UnaryMethod*> methods_;
  const int most_;  // calls that are read or handled at once
  const int most_held_;
  std::atomic<int> active_{0};
  std::atomic<int> reading_{0};  // of those, whose message is not there yet
  std::atomic<int> open_{0};     // let in, and not heard of for the last time
  std::array<std::atomic<int>, std::size(kLanes)> active_in_lane_{};
  std::atomic<int> held_{0};
  std::array<std::atomic<int>, std::size(kLanes)> held_in_lane_{};
  std::vector<std::atomic<Clock::time_point>> oldest_;  // by door and method
  std::vector<std::unique_ptr<Door>> doors_;
  Workers workers_;
};

}  // namespace locus::server
