#include "tests/server/admission/simulator.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <random>
#include <unordered_map>
#include <utility>

namespace locus::server {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Engine {
 public:
  explicit Engine(const Simulation& setup)
      : setup_(setup),
        random_(setup.seed),
        policy_({.slots = setup.slots,
                 .methods = setup.methods,
                 .max_queued = setup.max_queued,
                 .max_deferred = 10'000,
                 .max_wait_seconds = setup.max_wait_seconds},
                setup.parameters, TimeAt(0)),
        pollers_(static_cast<size_t>(std::max(1, setup.slots / 2))) {
    for (const SimulatedClients& clients : setup.clients) {
      groups_.push_back({.setup = clients});
      if (clients.peer == 0) groups_.back().setup.peer = groups_.size();
      groups_.back().open_streams.assign(
          static_cast<size_t>(clients.connections), 0);
      groups_.back().pending.resize(static_cast<size_t>(clients.connections));
      outcome_.clients.push_back({.name = clients.name});
    }
  }

  Simulation::Outcome Run() {
    for (size_t i = 0; i < groups_.size(); ++i) StartGroup(i);
    while (Step()) {
    }
    for (SimulatedResult& result : outcome_.clients) {
      std::sort(result.waits.begin(), result.waits.end());
      std::sort(result.latencies.begin(), result.latencies.end());
      std::sort(result.rejection_latencies.begin(),
                result.rejection_latencies.end());
    }
    outcome_.left = policy_.deferred();
    for (const CostClass cost_class : kCostClasses) {
      outcome_.left += policy_.ready(cost_class) + policy_.running(cost_class);
    }
    return std::move(outcome_);
  }

 private:
  struct Call {
    AdmissionPolicy::Call admission;
    size_t group = 0;
    size_t connection = 0;
    double sent = 0;     // by the client
    double arrival = 0;  // at the server, which has accepted it
    double deadline = kNever;
    double remaining = 0;  // compute time left, while a worker has the call
    double started = -1;
    int attempt = 1;
    bool is_prepared = false;
    bool is_pending = false;    // in the client
    bool is_open = false;       // has a stream
    bool is_abandoned = false;  // the client no longer waits
    bool is_over = false;       // the client has its result
  };
  using CallPtr = std::shared_ptr<Call>;

  struct Group {
    SimulatedClients setup;
    std::vector<int> open_streams;             // by connection
    std::vector<std::deque<CallPtr>> pending;  // by connection
    int in_flight = 0;
    size_t next_connection = 0;
  };
  struct Event {
    double time;
    int64_t number;
    std::function<void()> action;
    bool operator>(const Event& other) const {
      return std::pair(time, number) > std::pair(other.time, other.number);
    }
  };
  // A polling thread, which works through its tasks one by one. After every
  // event it does what OnTick() returns, before the next event.
  struct Task {
    double seconds = 0;
    std::function<void()> action;
    bool is_event = true;
  };
  struct Poller {
    std::deque<Task> tasks;
    bool is_busy = false;
  };

  static Clock::time_point TimeAt(double seconds) {
    return Clock::time_point(std::chrono::hours(1)) +
           std::chrono::duration_cast<Clock::duration>(
               std::chrono::duration<double>(seconds));
  }
  Clock::time_point Now() const { return TimeAt(now_); }

  void At(double time, std::function<void()> action) {
    events_.push({time, event_count_++, std::move(action)});
  }

  // ----------------------------------------------------------- processors
  // The speed of each worker that has a call.
  double WorkerSpeed() const {
    int polling = 0;
    for (const Poller& poller : pollers_) polling += poller.is_busy ? 1 : 0;
    const auto running = static_cast<double>(workers_.size());
    return running == 0
               ? 0
               : std::min(1.0, std::max(0, setup_.slots - polling) / running);
  }
  void Advance(double time) {
    const double elapsed = time - now_;
    const double done = elapsed * WorkerSpeed();
    for (const CallPtr& call : workers_) call->remaining -= done;
    if (now_ >= setup_.warm_up) {
      outcome_.worker_seconds += done * static_cast<double>(workers_.size());
      for (const Poller& poller : pollers_) {
        if (poller.is_busy) outcome_.polling_seconds += elapsed;
      }
    }
    now_ = time;
  }
  bool Step() {
    double next_worker = kNever;
    size_t worker = 0;
    const double speed = WorkerSpeed();
    for (size_t i = 0; i < workers_.size(); ++i) {
      const double time =
          speed == 0 ? kNever
                     : now_ + std::max(0.0, workers_[i]->remaining) / speed;
      if (time < next_worker) {
        next_worker = time;
        worker = i;
      }
    }
    const double next_event = events_.empty() ? kNever : events_.top().time;
    const double next = std::min(next_worker, next_event);
    if (next > setup_.seconds) {
      Advance(setup_.seconds);
      return false;
    }
    Advance(next);
    if (next_worker <= next_event) {
      const CallPtr call = workers_[worker];
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(worker));
      OnWorkerDone(call);
    } else {
      // top() is const, but its element is removed at once.
      const auto action = std::move(const_cast<Event&>(events_.top()).action);
      events_.pop();
      action();
    }
    return true;
  }
  // Adds an event for the polling thread of a connection.
  void Poll(size_t connection, double seconds, std::function<void()> action) {
    AddTask(connection, {.seconds = seconds, .action = std::move(action)});
  }
  void AddTask(size_t connection, Task task) {
    Poller& poller = pollers_[connection % pollers_.size()];
    if (task.is_event) {
      poller.tasks.push_back(std::move(task));
    } else {
      poller.tasks.push_front(std::move(task));
    }
    if (!poller.is_busy) StartTask(&poller);
  }
  void StartTask(Poller* poller) {
    poller->is_busy = true;
    const auto task = std::make_shared<Task>(std::move(poller->tasks.front()));
    poller->tasks.pop_front();
    At(now_ + task->seconds, [=, this] {
      poller->is_busy = false;
      task->action();
      if (task->is_event || poller->tasks.empty()) Tick();
      if (!poller->is_busy && !poller->tasks.empty()) StartTask(poller);
    });
  }

  // -------------------------------------------------------------- clients
  void StartGroup(size_t index) {
    const SimulatedClients& setup = groups_[index].setup;
    if (setup.rate > 0) {
      At(setup.start_time + NextGap(setup.rate), [=, this] { OnDue(index); });
    }
    if (setup.concurrency + setup.burst > 0) {
      At(setup.start_time, [=, this] {
        for (int i = 0; i < setup.concurrency + setup.burst; ++i) Send(index);
      });
    }
  }
  double NextGap(double rate) {
    return std::exponential_distribution<double>(rate)(random_);
  }
  void OnDue(size_t index) {
    Group& group = groups_[index];
    if (now_ >= group.setup.end_time) return;
    At(now_ + NextGap(group.setup.rate), [=, this] { OnDue(index); });
    if (group.in_flight < group.setup.max_in_flight) Send(index);
  }
  void Send(size_t index) {
    Group& group = groups_[index];
    if (now_ >= group.setup.end_time) return;
    auto call = std::make_shared<Call>();
    call->group = index;
    call->sent = now_;
    if (group.setup.deadline > 0) call->deadline = now_ + group.setup.deadline;
    if (now_ >= setup_.warm_up) ++outcome_.clients[index].calls;
    ++group.in_flight;
    if (call->deadline < kNever) {
      At(call->deadline, [=, this] { OnDeadline(call); });
    }
    Attempt(call);
  }
  void Attempt(const CallPtr& call) {
    Group& group = groups_[call->group];
    call->connection =
        group.next_connection++ % static_cast<size_t>(group.setup.connections);
    if (group.open_streams[call->connection] < group.setup.streams) {
      return Open(call);
    }
    call->is_pending = true;
    group.pending[call->connection].push_back(call);
  }
  void Open(const CallPtr& call) {
    call->is_pending = false;
    call->is_open = true;
    ++groups_[call->group].open_streams[call->connection];
    Poll(call->connection, setup_.costs.accept, [=, this] { OnArrival(call); });
  }
  void CloseStream(const CallPtr& call) {
    if (!call->is_open) return;
    call->is_open = false;
    Group& group = groups_[call->group];
    --group.open_streams[call->connection];
    auto& pending = group.pending[call->connection];
    while (!pending.empty()) {
      const CallPtr next = pending.front();
      pending.pop_front();
      if (next->is_over) continue;
      return Open(next);
    }
  }
  void OnDeadline(const CallPtr& call) {
    if (call->is_over) return;
    Count(call, &SimulatedResult::abandoned);
    End(call);
    if (call->is_pending) return;
    call->is_abandoned = true;
    // A call that the server has not accepted yet is noticed when it does.
    if (call->admission.stage == AdmissionPolicy::Stage::kNew) return;
    if (call->admission.stage == AdmissionPolicy::Stage::kDone) return;
    Poll(call->connection, setup_.costs.abandon, [=, this] {
      const auto found = std::find(workers_.begin(), workers_.end(), call);
      if (found != workers_.end()) workers_.erase(found);
      policy_.OnFinish(&call->admission, 0);
      CountExcess();
      CloseStream(call);
      Dispatch();
    });
  }
  void Count(const CallPtr& call, int64_t SimulatedResult::*counter) {
    if (call->sent >= setup_.warm_up)
      ++(outcome_.clients[call->group].*counter);
  }
  void End(const CallPtr& call) {
    call->is_over = true;
    Group& group = groups_[call->group];
    --group.in_flight;
    if (group.setup.concurrency > 0) {
      At(now_, [=, this] { Send(call->group); });
    }
  }

  // --------------------------------------------------------------- server
  void OnArrival(const CallPtr& call) {
    if (call->is_abandoned) {
      Poll(call->connection, setup_.costs.abandon, [=, this] {
        CountExcess();
        CloseStream(call);
      });
      return;
    }
    call->arrival = now_;
    const SimulatedClients& clients = groups_[call->group].setup;
    call->admission = {};
    call->is_prepared = false;
    call->admission.method = clients.method;
    call->admission.connection = 1 + 1000 * clients.peer + call->connection;
    call->admission.arrival = Now();
    if (call->deadline < kNever) {
      call->admission.deadline = TimeAt(call->deadline);
    }
    calls_[&call->admission] = call;
    Apply(policy_.OnArrival(Now(), &call->admission), call);
    outcome_.max_deferred = std::max(outcome_.max_deferred, policy_.deferred());
  }
  void Apply(const AdmissionPolicy::Verdict& verdict, const CallPtr& call) {
    if (verdict.action == AdmissionPolicy::Action::kAdmit) Read(call);
    if (verdict.action == AdmissionPolicy::Action::kReject) {
      Reject(call, verdict.retry_seconds);
    }
    ScheduleTick();
  }
  void Read(const CallPtr& call) {
    if (groups_[call->group].setup.is_silent) return;
    At(now_ + setup_.costs.read, [=, this] {
      if (call->admission.stage != AdmissionPolicy::Stage::kReading &&
          call->admission.stage != AdmissionPolicy::Stage::kStalled) {
        return;
      }
      const auto verdict = policy_.OnRead(
          Now(), &call->admission, groups_[call->group].setup.message_bytes);
      if (verdict.action == AdmissionPolicy::Action::kReject) {
        Reject(call, verdict.retry_seconds);
      }
      Dispatch();
    });
  }
  void Reject(const CallPtr& call, double retry_seconds, bool is_event = true) {
    // The task of OnDeadline() removes the call.
    if (call->is_abandoned) return;
    const auto action = [=, this] { OnRejected(call, retry_seconds); };
    AddTask(call->connection, {setup_.costs.reject, action, is_event});
  }
  void OnRejected(const CallPtr& call, double retry_seconds) {
    CountExcess();
    CloseStream(call);
    if (call->is_over) return;
    if (now_ >= setup_.warm_up) {
      outcome_.clients[call->group].rejection_latencies.push_back(
          now_ - call->arrival);
    }
    if (call->attempt++ < groups_[call->group].setup.max_attempts) {
      const double jitter =
          std::uniform_real_distribution<double>(0.8, 1.2)(random_);
      At(now_ + retry_seconds * jitter, [=, this] {
        if (!call->is_over) Attempt(call);
      });
      return;
    }
    Count(call, &SimulatedResult::rejected);
    End(call);
  }
  // Counts a call that was not served, at the time when it is removed.
  void CountExcess() {
    if (now_ >= setup_.warm_up) ++outcome_.excess;
  }
  void Dispatch() {
    for (const CostClass cost_class : kCostClasses) {
      while (policy_.running(cost_class) < setup_.slots) {
        AdmissionPolicy::Call* const next = policy_.TakeReady(cost_class);
        if (next == nullptr) break;
        const CallPtr call = calls_[next];
        if (call->is_prepared) call->started = now_;
        call->remaining =
            call->is_prepared ? SecondsOf(call) : PrepareSecondsOf(call);
        workers_.push_back(call);
      }
    }
  }
  double SecondsOf(const CallPtr& call) const {
    return groups_[call->group].setup.seconds;
  }
  double PrepareSecondsOf(const CallPtr& call) const {
    constexpr double kBytesPerSecond = 1e9;
    return setup_.costs.prepare +
           static_cast<double>(groups_[call->group].setup.message_bytes) /
               kBytesPerSecond;
  }
  void OnWorkerDone(const CallPtr& call) {
    if (!call->is_prepared) {
      call->is_prepared = true;
      // The inverse of CostEstimator.
      const double guess = SecondsOf(call) * groups_[call->group].setup.guess;
      const Work work{(guess - 30e-6) * 2e10 * setup_.slots, 0};
      const auto verdict = policy_.OnPrepared(Now(), &call->admission, work);
      if (verdict.action == AdmissionPolicy::Action::kAdmit) {
        call->started = now_;
        call->remaining = SecondsOf(call);
        workers_.push_back(call);
      } else if (verdict.action == AdmissionPolicy::Action::kReject) {
        Reject(call, verdict.retry_seconds);
      }
    } else {
      // As in the server, the time includes that of other threads.
      policy_.OnFinish(&call->admission, now_ - call->started);
      Poll(call->connection, setup_.costs.answer, [=, this] {
        CloseStream(call);
        OnAnswer(call);
      });
    }
    Dispatch();
    Tick();
  }
  void OnAnswer(const CallPtr& call) {
    if (call->is_over) return;
    SimulatedResult& result = outcome_.clients[call->group];
    Count(call, &SimulatedResult::ok);
    if (now_ >= setup_.warm_up) {
      result.ok_seconds += SecondsOf(call);
      result.waits.push_back(
          std::max(0.0, now_ - call->arrival - SecondsOf(call)));
      result.latencies.push_back(now_ - call->sent);
    }
    result.ok_times.push_back(now_);
    End(call);
  }
  void Tick() {
    const AdmissionPolicy::Actions actions = policy_.OnTick(Now());
    for (AdmissionPolicy::Call* const call : actions.read) Read(calls_[call]);
    for (const auto& [call, verdict] : actions.reject) {
      Reject(calls_[call], verdict.retry_seconds, /*is_event=*/false);
    }
    for (AdmissionPolicy::Call* const admission : actions.cancel) {
      const CallPtr call = calls_[admission];
      policy_.OnFinish(admission, 0);
      Reject(call, 1);
    }
    ScheduleTick();
  }
  // The server examines deferred calls every 20 ms when nothing else happens.
  void ScheduleTick() {
    if (is_tick_scheduled_ || !policy_.has_waiting_calls()) return;
    is_tick_scheduled_ = true;
    At(now_ + 0.02, [this] {
      is_tick_scheduled_ = false;
      Tick();
    });
  }

  const Simulation& setup_;
  std::mt19937_64 random_;
  AdmissionPolicy policy_;
  double now_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int64_t event_count_ = 0;
  std::vector<Poller> pollers_;
  std::vector<CallPtr> workers_;
  std::vector<Group> groups_;
  std::unordered_map<AdmissionPolicy::Call*, CallPtr> calls_;
  bool is_tick_scheduled_ = false;
  Simulation::Outcome outcome_;
};

}  // namespace

double SimulatedResult::Percentile(const std::vector<double>& sorted,
                                   double share) const {
  if (sorted.empty()) return 0;
  return sorted[std::min(
      sorted.size() - 1,
      static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

double SimulatedResult::Rate(double from, double to) const {
  const auto count =
      std::count_if(ok_times.begin(), ok_times.end(),
                    [&](double time) { return from <= time && time < to; });
  return static_cast<double>(count) / (to - from);
}

Simulation::Outcome Simulation::Run() const { return Engine(*this).Run(); }

double Simulation::Capacity(double call_seconds) const {
  Simulation closed = *this;
  closed.clients = {{.seconds = call_seconds, .concurrency = 16 * slots}};
  closed.max_wait_seconds = 1e6;
  closed.seconds = warm_up + std::max(2.0, 50 * call_seconds);
  return closed.Run()[0].Rate(closed.warm_up, closed.seconds);
}

}  // namespace locus::server
