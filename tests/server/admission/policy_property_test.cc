// Random sequences of events keep the counts of AdmissionPolicy equal to a
// recount, lose no call, and return no call twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "server/admission/policy.h"

namespace locus::server {
namespace {

using Action = AdmissionPolicy::Action;
using Call = AdmissionPolicy::Call;
using Stage = AdmissionPolicy::Stage;

constexpr size_t kMethods = 3;

// The state of a call, according to the answers of the policy alone.
enum class Known { kDeferred, kReading, kReady, kRunning, kDone };

Known KnownOf(Stage stage) {
  switch (stage) {
    case Stage::kDeferred:
      return Known::kDeferred;
    case Stage::kReading:
    case Stage::kStalled:
      return Known::kReading;
    case Stage::kReady:
      return Known::kReady;
    case Stage::kRunning:
      return Known::kRunning;
    default:
      return Known::kDone;
  }
}

class RandomEvents {
 public:
  RandomEvents(uint64_t seed, const AdmissionPolicy::Limits& limits,
               const AdmissionParameters& parameters)
      : random_(seed),
        limits_(limits),
        parameters_(parameters),
        policy_(limits, parameters, now_) {}

  void Run(int events) {
    for (int i = 0; i < events; ++i) {
      if (i == events * 9 / 10) policy_.StartDraining();
      const int kind = Below(10);
      if (kind < 3) {
        Arrive();
      } else if (kind < 5) {
        Read();
      } else if (kind < 7) {
        Work();
      } else if (kind == 7) {
        Finish();
      } else if (kind == 8) {
        now_ = After(now_, std::exp(Between(-12, -1)));
      }
      if (Below(4) > 0) Tick();
      Recount();
      if (testing::Test::HasFatalFailure()) return;
    }
    End();
  }

 private:
  int Below(int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random_);
  }
  double Between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  // A random call in this state, or null.
  Call* Any(Known known) {
    std::vector<Call*> found;
    for (const auto& call : calls_) {
      if (known_[call.get()] == known) found.push_back(call.get());
    }
    return found.empty() ? nullptr
                         : found[static_cast<size_t>(
                               Below(static_cast<int>(found.size())))];
  }

  void Arrive() {
    calls_.push_back(std::make_unique<Call>());
    Call* const call = calls_.back().get();
    call->method = static_cast<size_t>(Below(kMethods));
    call->connection = static_cast<uint64_t>(1 + Below(4));
    call->arrival = now_;
    if (Below(2) == 0) call->deadline = After(now_, std::exp(Between(-8, 2)));
    const Action action = policy_.OnArrival(now_, call).action;
    known_[call] = action == Action::kAdmit   ? Known::kReading
                   : action == Action::kDefer ? Known::kDeferred
                                              : Known::kDone;
  }
  void Read() {
    Call* const call = Any(Known::kReading);
    if (call == nullptr) return;
    policy_.OnRead(now_, call, Below(10) == 0 ? 10'000'000 : 1000);
    known_[call] = Known::kReady;
  }
  void Work() {
    const CostClass cost_class = kCostClasses[Below(2)];
    if (policy_.running(cost_class) < limits_.slots) {
      Call* const call = policy_.TakeReady(cost_class);
      if (call != nullptr) {
        ASSERT_EQ(known_[call], Known::kReady);
        ASSERT_EQ(call->cost_class, cost_class);
        known_[call] = Known::kRunning;
        if (!prepared_.contains(call)) Prepare(call);
        return;
      }
      for (const auto& other : calls_) {
        ASSERT_FALSE(known_[other.get()] == Known::kReady &&
                     other->cost_class == cost_class)
            << "a call that is ready was not returned";
      }
    }
    Call* const call = Any(Known::kRunning);
    if (call == nullptr) return;
    policy_.OnFinish(call, Below(2) * std::exp(Between(-9, -1)));
    known_[call] = Known::kDone;
  }
  void Prepare(Call* call) {
    prepared_.insert(call);
    const double flops = std::exp(Between(12, 24));
    switch (policy_.OnPrepared(now_, call, {.flops = flops}).action) {
      case Action::kAdmit:
        break;
      case Action::kDefer:
        known_[call] = Known::kReady;
        break;
      case Action::kReject:
        known_[call] = Known::kDone;
        break;
    }
  }
  void Finish() {
    Call* const call = Any(static_cast<Known>(Below(5)));
    if (call == nullptr) return;
    policy_.OnFinish(call, 0);
    known_[call] = Known::kDone;
  }
  void Tick() {
    AdmissionPolicy::Actions actions = policy_.OnTick(now_);
    ASSERT_LE(static_cast<int>(actions.reject.size()),
              parameters_.rejections_per_tick);
    for (Call* const call : actions.read) {
      ASSERT_EQ(known_[call], Known::kDeferred);
      known_[call] = Known::kReading;
    }
    for (const auto& [call, verdict] : actions.reject) {
      ASSERT_EQ(known_[call], Known::kDeferred);
      ASSERT_EQ(verdict.action, Action::kReject);
      ASSERT_GE(verdict.retry_seconds, parameters_.min_retry_seconds);
      known_[call] = Known::kDone;
    }
    for (Call* const call : actions.cancel) {
      ASSERT_EQ(known_[call], Known::kReading);
      policy_.OnFinish(call, 0);
      known_[call] = Known::kDone;
    }
  }

  struct Sums {
    int ready = 0;
    int running = 0;
    int waiting = 0;  // reading, ready or deferred
    double waiting_seconds = 0;
    double running_seconds = 0;
    double method_seconds[kMethods] = {};
    bool is_active[kMethods] = {};
  };
  void Recount() {
    int deferred = 0;
    bool is_any_waiting = false;
    Sums sums[2];
    for (const auto& call : calls_) {
      const Known known = known_[call.get()];
      ASSERT_EQ(KnownOf(call->stage), known);
      Sums& sum = sums[static_cast<size_t>(call->cost_class)];
      const double seconds =
          std::max(call->seconds, parameters_.rejection_seconds);
      deferred += known == Known::kDeferred ? 1 : 0;
      is_any_waiting |= known == Known::kDeferred || known == Known::kReading;
      if (known == Known::kRunning) {
        ++sum.running;
        sum.running_seconds += seconds;
      } else if (known != Known::kDone && call->stage != Stage::kStalled) {
        sum.ready += known == Known::kReady ? 1 : 0;
        ++sum.waiting;
        sum.waiting_seconds += seconds;
        sum.method_seconds[call->method] += seconds;
        sum.is_active[call->method] = true;
      }
    }
    ASSERT_EQ(policy_.deferred(), deferred);
    ASSERT_EQ(policy_.has_waiting_calls(), is_any_waiting);
    for (const CostClass cost_class : kCostClasses) {
      const Sums& sum = sums[static_cast<size_t>(cost_class)];
      ASSERT_EQ(policy_.ready(cost_class), sum.ready);
      ASSERT_EQ(policy_.running(cost_class), sum.running);
      const auto active =
          std::count(std::begin(sum.is_active), std::end(sum.is_active), true);
      for (size_t method = 0; method < kMethods; ++method) {
        const double queued =
            std::min(sum.waiting_seconds,
                     static_cast<double>(active) * sum.method_seconds[method]);
        const double wait =
            sum.running + sum.waiting < limits_.slots
                ? 0
                : (sum.running_seconds / 2 + queued) / limits_.slots;
        ASSERT_NEAR(policy_.EstimateWait(cost_class, method), wait, 1e-9);
      }
    }
  }
  // Every call that is not done can be ended, and then nothing is left.
  void End() {
    for (const auto& call : calls_) {
      policy_.OnFinish(call.get(), 0);
      known_[call.get()] = Known::kDone;
    }
    Recount();
    const AdmissionPolicy::Actions actions = policy_.OnTick(now_);
    ASSERT_TRUE(actions.read.empty() && actions.reject.empty() &&
                actions.cancel.empty());
    ASSERT_FALSE(policy_.has_waiting_calls());
  }

  std::mt19937_64 random_;
  Clock::time_point now_{std::chrono::hours(1)};
  const AdmissionPolicy::Limits limits_;
  const AdmissionParameters parameters_;
  AdmissionPolicy policy_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::map<const Call*, Known> known_;
  std::set<const Call*> prepared_;
};

TEST(AdmissionPolicyPropertyTest, RandomEventsKeepTheCounts) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AdmissionParameters parameters;
    parameters.rejection_burst = 20;
    parameters.rejections_per_tick = 2;
    parameters.message_timeout_seconds = 1;
    RandomEvents events(seed,
                        {.slots = 1 + static_cast<int>(seed % 3),
                         .methods = kMethods,
                         .max_queued = seed % 2 == 0 ? 10 : 1000,
                         .max_deferred = seed % 5 == 0 ? 5 : 10'000,
                         .max_wait_seconds = 0.5},
                        parameters);
    events.Run(400);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace locus::server
