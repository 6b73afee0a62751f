#include "client/cli/distributed/distributed_evaluation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/base/status_macros.h"
#include "client/cli/distributed/evaluation_parts.h"
#include "client/cli/distributed/part_scheduler.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/interrupt.h"
#include "locus/client/errors.h"
#include "server/rpc/status.h"

namespace locus::client {
namespace {

// A server that disappears without closing its connection is detected after
// about this time.
constexpr absl::Duration kKeepalive = absl::Seconds(30);

// A part of the evaluation, and the results received for it.
struct Part {
  v1::EvaluateExtrapolationRequest request;
  // The expected cells. The first `received` of them have metrics.
  std::vector<v1::EvaluationCell> cells;
  size_t received = 0;
  // Completed share of the part, from 0 to 1.
  double done_share = 0;
};

// A connection to one server.
struct Server {
  std::string address;
  Session session;
  CancellationToken cancellation;
};

// Converts an error of the server's own code to the form in which a client
// receives it.
absl::Status FromServer(const absl::Status& status) {
  return FromGrpc(server::ToGrpcStatus(status));
}

// The name of a run, such as "rope seed 1".
std::string NameOf(const Part& part) {
  return absl::StrCat(part.cells.front().scheme_name(), " seed ",
                      part.request.seed());
}

// Puts the address of the server in front of its error message.
absl::Status WithAddress(const Server& server, const absl::Status& status) {
  absl::Status named(status.code(),
                     absl::StrCat(server.address, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    named.SetPayload(url, payload);
  });
  return named;
}

// Whether another server may succeed: this one is overloaded, shutting down or
// unreachable. Responses of a server carry a request id; errors that gRPC
// reports for a broken connection do not.
bool IsRetryable(const absl::Status& status, const CallInfo& info) {
  if (absl::IsUnavailable(status)) return true;
  return info.request_id.empty() &&
         (absl::IsCancelled(status) || absl::IsInternal(status) ||
          absl::IsUnknown(status));
}

// One evaluation in progress: the parts, the servers, and the cells received so
// far. Run() calls RunPart() on one thread per server.
class DistributedCall {
 public:
  DistributedCall(std::vector<Part> parts,
                  std::vector<std::unique_ptr<Server>> servers,
                  absl::Time deadline, ProgressReporter& reporter)
      : parts_(std::move(parts)),
        servers_(std::move(servers)),
        start_(absl::Now()),
        deadline_(deadline),
        reporter_(reporter),
        scheduler_(static_cast<int>(servers_.size()),
                   static_cast<int>(parts_.size()), RetryPolicy{}) {
    scheduler_.OnStop([this] {
      for (const auto& server : servers_) server->cancellation.Cancel();
    });
  }

  // Runs all parts and returns when no call is active any more. Call once.
  absl::Status Run() {
    absl::Status status = scheduler_.Run(
        [this](int server, int part) { return RunPart(server, part); });
    const absl::MutexLock lock(&mutex_);
    reporter_.Finish();
    return status;
  }
  // Cancels all calls. Thread-safe.
  void Cancel() { scheduler_.Stop(absl::CancelledError("interrupted")); }

  // All cells received, in the order of the parts. Call after Run().
  std::vector<v1::EvaluationCell> cells() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    std::vector<v1::EvaluationCell> cells;
    for (const Part& part : parts_) {
      cells.insert(cells.end(), part.cells.begin(),
                   part.cells.begin() + static_cast<int64_t>(part.received));
    }
    return cells;
  }
  // The manifests of the parts. Call after Run().
  std::vector<std::string> manifests() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return manifests_;
  }

 private:
  PartScheduler::Attempt RunPart(int server_number, int part_number) {
    Server& server = *servers_[server_number];
    const absl::Duration timeout = deadline_ - absl::Now();
    if (timeout <= absl::ZeroDuration()) return DeadlineExceeded();
    Part& part = StartPart(server, part_number);
    std::optional<v1::EvaluationSummary> summary;
    size_t count = 0;
    absl::Status invalid;
    CallInfo info;
    absl::Status status = server.session.client->EvaluateExtrapolation(
        part.request,
        [&](const v1::EvaluateExtrapolationResponse& event) {
          if (event.has_cell()) {
            invalid = StoreCell(event.cell(), count++, server, &part);
          }
          if (event.has_progress()) OnProgress(event.progress(), server, &part);
          if (event.has_summary()) summary = event.summary();
          return invalid.ok();
        },
        {.timeout = timeout,
         .info = &info,
         .cancellation = &server.cancellation});
    if (!invalid.ok()) return {.status = invalid};
    if (!status.ok()) return HandleFailure(status, info, server, part);
    if (!summary.has_value()) {
      return {.status = absl::InternalError(
                  absl::StrCat(server.address, " sent no summary"))};
    }
    return FinishPart(*summary, timeout, count, server, &part);
  }

  // Returns the part. Its request may be read without a lock.
  Part& StartPart(const Server& server, int part) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    working_.insert(&server);
    parts_[part].done_share = 0;
    return parts_[part];
  }

  // Stores cell `n` of a part. Returns an error if it is not the expected one.
  absl::Status StoreCell(const v1::EvaluationCell& cell, size_t n,
                         const Server& server, Part* part) {
    const absl::MutexLock lock(&mutex_);
    if (n >= part->cells.size() ||
        cell.eval_length() != part->cells[n].eval_length()) {
      return absl::InternalError(absl::StrCat(
          server.address, " sent a cell of length ", cell.eval_length(),
          ", which was not expected; it may run another version"));
    }
    v1::EvaluationCell& kept = part->cells[n];
    *kept.mutable_metrics() = cell.metrics();
    if (cell.has_attention_map()) {
      *kept.mutable_attention_map() = cell.attention_map();
    }
    if (cell.has_training_curve()) {
      *kept.mutable_training_curve() = cell.training_curve();
      kept.mutable_training_curve()->set_scheme_name(kept.scheme_name());
    }
    *kept.mutable_sorted_probabilities() = cell.sorted_probabilities();
    // A server that failed may have sent this cell before, with the same
    // values.
    if (n >= part->received) {
      part->received = n + 1;
      v1::EvaluateExtrapolationResponse event;
      *event.mutable_cell() = kept;
      reporter_.On(event, absl::Now());
    }
    return absl::OkStatus();
  }

  void OnProgress(const v1::EvaluationProgress& progress, const Server& server,
                  Part* part) {
    const absl::MutexLock lock(&mutex_);
    // Testing follows training, so a part is not complete with its last step.
    part->done_share =
        std::min(0.95, progress.step_count() > 0
                           ? static_cast<double>(progress.step()) /
                                 static_cast<double>(progress.step_count())
                           : 0.0);
    reporter_.OnDistributed(CurrentProgress(), NameOf(*part), server.address,
                            progress.step_count(), absl::Now());
  }

  DistributedProgress CurrentProgress() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    DistributedProgress progress;
    progress.run_count = static_cast<int>(parts_.size());
    double done = 0;
    for (const Part& part : parts_) {
      if (part.done_share == 1) ++progress.done_runs;
      done += part.done_share;
    }
    progress.working_servers = static_cast<int>(working_.size());
    progress.done_share = done / static_cast<double>(parts_.size());
    progress.elapsed = absl::Now() - start_;
    return progress;
  }

  static PartScheduler::Attempt DeadlineExceeded() {
    return {.status = absl::DeadlineExceededError("the deadline passed")};
  }

  // Handles a call that failed.
  PartScheduler::Attempt HandleFailure(const absl::Status& status,
                                       const CallInfo& info, Server& server,
                                       Part& part) {
    const absl::MutexLock lock(&mutex_);
    working_.erase(&server);
    part.done_share = 0;
    PartScheduler::Attempt attempt;
    attempt.status =
        info.request_id.empty() ? status : WithAddress(server, status);
    attempt.may_retry =
        !server.cancellation.cancelled() && IsRetryable(status, info);
    attempt.retry_after = RetryDelay(status);
    if (attempt.may_retry) {
      reporter_.Say(absl::StrCat(server.address, " failed; rescheduling ",
                                 NameOf(part), ": ", ErrorLine(status)));
    }
    return attempt;
  }

  // Handles a call that ended with a summary. `timeout` is the timeout of the
  // call.
  PartScheduler::Attempt FinishPart(const v1::EvaluationSummary& summary,
                                    absl::Duration timeout, size_t cell_count,
                                    Server& server, Part* part) {
    const absl::MutexLock lock(&mutex_);
    working_.erase(&server);
    manifests_.push_back(summary.manifest_json());
    if (summary.partial()) {
      // A server sends a partial summary shortly before the deadline of the
      // call, or earlier if it shuts down.
      const absl::Duration margin = std::min(timeout / 10, absl::Seconds(1));
      if (deadline_ - absl::Now() < 2 * margin) return DeadlineExceeded();
      part->done_share = 0;
      reporter_.Say(absl::StrCat(
          server.address, " is shutting down; rescheduling ", NameOf(*part)));
      return {.status = absl::UnavailableError(absl::StrCat(
                  server.address, " shut down during the evaluation")),
              .may_retry = true};
    }
    if (cell_count != part->cells.size()) {
      return {.status = absl::InternalError(
                  absl::StrCat(server.address, " sent ", cell_count, " of ",
                               part->cells.size(), " cells"))};
    }
    part->done_share = 1;
    return {};
  }

  mutable absl::Mutex mutex_;
  std::vector<Part> parts_ ABSL_GUARDED_BY(mutex_);
  const std::vector<std::unique_ptr<Server>> servers_;
  // The servers that are running a part.
  std::set<const Server*> working_ ABSL_GUARDED_BY(mutex_);
  const absl::Time start_;
  const absl::Time deadline_;
  ProgressReporter& reporter_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> manifests_ ABSL_GUARDED_BY(mutex_);
  PartScheduler scheduler_;
};

}  // namespace

absl::StatusOr<ReceivedEvaluation> EvaluateDistributed(
    const CommonFlags& flags, const std::vector<std::string>& servers,
    const v1::EvaluateExtrapolationRequest& request,
    ProgressReporter& reporter) {
  ReceivedEvaluation received;
  absl::StatusOr<std::vector<EvaluationPart>> split = SplitEvaluation(request);
  if (!split.ok()) {
    received.status = FromServer(split.status());
    return received;
  }
  std::vector<Part> parts;
  for (EvaluationPart& part : *split) {
    parts.push_back({std::move(part.request), std::move(part.cells)});
  }
  std::vector<std::unique_ptr<Server>> opened;
  for (const std::string& address : servers) {
    auto server = std::make_unique<Server>();
    CommonFlags server_flags = flags;
    server_flags.server = std::string(absl::StripAsciiWhitespace(address));
    if (server_flags.server.empty()) {
      return UsageError("--server: the list contains an empty address");
    }
    server->address = server_flags.server;
    // No retries per server: a failed part goes to another server.
    CLIENT_ASSIGN_OR_RETURN(
        server->session,
        OpenSession(server_flags, RetryPolicy{.max_attempts = 1}, kKeepalive));
    opened.push_back(std::move(server));
  }
  const absl::Time deadline = absl::Now() + opened.front()->session.timeout;
  DistributedCall call(std::move(parts), std::move(opened), deadline, reporter);
  {
    const SignalScope interrupt([&call] { call.Cancel(); });
    received.status = call.Run();
    received.signal = SignalScope::signal();
  }
  received.cells = call.cells();
  const bool partial =
      absl::IsDeadlineExceeded(received.status) && !received.cells.empty();
  if (!received.status.ok() && !partial) return received;
  auto summary = MergeEvaluation(request, received.cells, call.manifests(),
                                 partial, absl::Now());
  if (!summary.ok()) return FromServer(summary.status());
  received.summary = *std::move(summary);
  received.status = absl::OkStatus();
  return received;
}

}  // namespace locus::client
