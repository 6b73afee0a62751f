#include "server/observability/call_log_sampler.h"

#include <chrono>

#include "server/observability/log.h"

namespace locus::server {
namespace {

bool IsAlwaysLogged(grpc::StatusCode code) {
  return code == grpc::OK || code == grpc::INTERNAL || code == grpc::UNKNOWN ||
         code == grpc::DATA_LOSS;
}

void WriteNotLogged(int64_t count) {
  if (count == 0) return;
  WriteLog(LogLine("warning", "calls_not_logged").Add("count", count));
}

}  // namespace

CallLogSampler::Decision CallLogSampler::Decide(grpc::StatusCode code,
                                                Clock::time_point now) {
  const bool is_always_logged = IsAlwaysLogged(code);
  if (is_always_logged && not_logged_ == 0) return {};
  const absl::MutexLock lock(&mutex_);
  Decision decision;
  if (now - second_start_ >= std::chrono::seconds(1)) {
    second_start_ = now;
    lines_ = 0;
    decision.not_logged = TakeNotLogged();
  }
  if (is_always_logged) return decision;
  decision.log = lines_ < kMaxLines;
  if (decision.log) {
    ++lines_;
  } else {
    ++not_logged_;
  }
  return decision;
}

int64_t CallLogSampler::TakeNotLogged() { return not_logged_.exchange(0); }

bool ShouldLogCall(CallLogSampler& sampler, grpc::StatusCode code,
                   Clock::time_point now) {
  const CallLogSampler::Decision decision = sampler.Decide(code, now);
  WriteNotLogged(decision.not_logged);
  return decision.log;
}

void LogCallsNotLogged(CallLogSampler& sampler) {
  WriteNotLogged(sampler.TakeNotLogged());
}

}  // namespace locus::server
