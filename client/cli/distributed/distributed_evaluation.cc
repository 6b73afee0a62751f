#include "client/cli/distributed/distributed_evaluation.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/support/embedded_server.h"
#include "client/cli/support/interrupt.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/distributed/part_scheduler.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

// A server that vanished without a word is missed after about so long.
constexpr absl::Duration kKeepalive = absl::Seconds(30);

struct Part {
  v1::EvaluateExtrapolationRequest request;
  // What is asked for; the first `received` of them have their metrics.
  std::vector<v1::EvaluationCell> cells;
  size_t received = 0;
  double done_share = 0;
};

struct Server {
  std::string address;
  Session session;
  Canceller canceller;
  // The part it is at; none: -1.
  int part = -1;
};

std::string NameOf(const Part& part) {
  return absl::StrCat(part.cells.front().scheme_name(), " seed ",
                      part.request.seed());
}

// The server's words with its address in front, if they do not name it anyway.
absl::Status From(const Server& server, const absl::Status& status) {
  absl::Status named(status.code(),
                     absl::StrCat(server.address, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    named.SetPayload(url, payload);
  });
  return named;
}

// Whether the server is at fault, not the request: it is busy or leaving, or
// said nothing at all. What a server says has a number; gRPC's own words for a
// connection that broke have none.
bool MayRetry(const absl::Status& status, const CallInfo& info) {
  if (absl::IsUnavailable(status)) return true;
  return info.request_id.empty() &&
         (absl::IsCancelled(status) || absl::IsInternal(status) ||
          absl::IsUnknown(status));
}

class SpreadCall {
 public:
  SpreadCall(std::vector<Part> parts,
             std::vector<std::unique_ptr<Server>> servers, absl::Time deadline,
             ProgressReporter& reporter)
      : parts_(std::move(parts)),
        servers_(std::move(servers)),
        start_(absl::Now()),
        deadline_(deadline),
        reporter_(reporter),
        spread_(static_cast<int>(servers_.size()),
                static_cast<int>(parts_.size()), RetryPolicy{}) {
    spread_.OnStop([this] {
      for (const auto& server : servers_) server->canceller.Cancel();
    });
  }

  absl::Status Run() {
    absl::Status status = spread_.Run(
        [this](int server, int part) { return DoPart(server, part); });
    const std::lock_guard lock(mutex_);
    reporter_.Finish();
    return status;
  }
  void Cancel() { spread_.Stop(absl::CancelledError("interrupted")); }

  std::vector<v1::EvaluationCell> cells() const {
    std::vector<v1::EvaluationCell> cells;
    for (const Part& part : parts_) {
      cells.insert(cells.end(), part.cells.begin(),
                   part.cells.begin() + static_cast<int64_t>(part.received));
    }
    return cells;
  }
  const std::vector<std::string>& manifests() const { return manifests_; }

 private:
  Spread::Attempt DoPart(int server_number, int part_number) {
    Server& server = *servers_[server_number];
    Part& part = parts_[part_number];
    const absl::Duration time = deadline_ - absl::Now();
    if (time <= absl::ZeroDuration()) return TimeIsUp();
    Begin(server, part_number);
    std::optional<v1::EvaluationSummary> summary;
    size_t count = 0;
    absl::Status broken;
    CallInfo info;
    absl::Status status = server.session.client->EvaluateExtrapolation(
        part.request,
        [&](const v1::EvaluateExtrapolationResponse& event) {
          if (event.has_cell()) {
            broken = Keep(event.cell(), count++, server, &part);
          }
          if (event.has_progress()) OnProgress(event.progress(), server, &part);
          if (event.has_summary()) summary = event.summary();
          return broken.ok();
        },
        {.timeout = time, .info = &info, .canceller = &server.canceller});
    if (!broken.ok()) return {.status = broken};
    if (!status.ok()) return Lose(status, info, server, part);
    if (!summary.has_value()) {
      return {.status = absl::InternalError(
                  absl::StrCat(server.address, " sent no summary"))};
    }
    return Finish(*summary, time, count, server, &part);
  }

  void Begin(Server& server, int part) {
    const std::lock_guard lock(mutex_);
    server.part = part;
    parts_[part].done_share = 0;
  }

  // The cells of a part come in the order in which they are expected.
  absl::Status Keep(const v1::EvaluationCell& cell, size_t n,
                    const Server& server, Part* part) {
    const std::lock_guard lock(mutex_);
    if (n >= part->cells.size() ||
        cell.eval_length() != part->cells[n].eval_length()) {
      return absl::InternalError(absl::StrCat(
          server.address, " sent a cell of length ", cell.eval_length(),
          ", which is not the next one; is it of another version?"));
    }
    v1::EvaluationCell& kept = part->cells[n];
    *kept.mutable_metrics() = cell.metrics();
    if (cell.has_attention_map()) {
      *kept.mutable_attention_map() = cell.attention_map();
    }
    // Another server may have come further before it was lost, and the cells
    // are the same.
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
    const std::lock_guard lock(mutex_);
    // The last word of a run is not the last of its part, which also tests.
    part->done_share =
        std::min(0.95, progress.step_count() > 0
                           ? static_cast<double>(progress.step()) /
                                 static_cast<double>(progress.step_count())
                           : 0.0);
    reporter_.OnSpread(Standing(), NameOf(*part), server.address,
                       progress.step_count(), absl::Now());
  }

  // Holds the mutex.
  SpreadProgress Standing() const {
    SpreadProgress standing;
    standing.run_count = static_cast<int>(parts_.size());
    double done = 0;
    for (const Part& part : parts_) {
      if (part.done_share == 1) ++standing.done_runs;
      done += part.done_share;
    }
    for (const auto& server : servers_) {
      if (server->part >= 0) ++standing.working_servers;
    }
    standing.done_share = done / static_cast<double>(parts_.size());
    standing.elapsed = absl::Now() - start_;
    return standing;
  }

  static Spread::Attempt TimeIsUp() {
    return {.status = absl::DeadlineExceededError("time is up")};
  }

  Spread::Attempt Lose(const absl::Status& status, const CallInfo& info,
                       Server& server, Part& part) {
    const std::lock_guard lock(mutex_);
    server.part = -1;
    part.done_share = 0;
    Spread::Attempt attempt;
    attempt.status = info.request_id.empty() ? status : From(server, status);
    attempt.may_retry = !server.canceller.cancelled() && MayRetry(status, info);
    attempt.retry_after = RetryDelay(status);
    if (attempt.may_retry) {
      reporter_.Say(
          absl::StrCat(server.address, " failed, ", NameOf(part),
                       " goes to whichever is free: ", ErrorLine(status)));
    }
    return attempt;
  }

  // `time`: what the call was given.
  Spread::Attempt Finish(const v1::EvaluationSummary& summary,
                         absl::Duration time, size_t cell_count, Server& server,
                         Part* part) {
    const std::lock_guard lock(mutex_);
    server.part = -1;
    manifests_.push_back(summary.manifest_json());
    if (summary.partial()) {
      // Servers stop a moment before the caller's time is up, or long before
      // it, if they are told to leave.
      const absl::Duration moment = std::min(time / 10, absl::Seconds(1));
      if (deadline_ - absl::Now() < 2 * moment) return TimeIsUp();
      part->done_share = 0;
      reporter_.Say(absl::StrCat(server.address, " is leaving, ", NameOf(*part),
                                 " goes to another"));
      return {.status = absl::UnavailableError(absl::StrCat(
                  server.address, " left in the middle of the evaluation")),
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

  std::mutex mutex_;  // all but what is constant, and the clients
  std::vector<Part> parts_;
  const std::vector<std::unique_ptr<Server>> servers_;
  const absl::Time start_;
  const absl::Time deadline_;
  ProgressReporter& reporter_;
  std::vector<std::string> manifests_;
  Spread spread_;
};

}  // namespace

absl::StatusOr<ReceivedEvaluation> SpreadEvaluation(
    const CommonFlags& flags, const std::vector<std::string>& servers,
    const v1::EvaluateExtrapolationRequest& request,
    ProgressReporter& reporter) {
  ReceivedEvaluation received;
  absl::StatusOr<std::vector<EvaluationPart>> split = SplitEvaluation(request);
  if (!split.ok()) {
    received.status = split.status();
    return received;
  }
  std::vector<Part> parts;
  for (EvaluationPart& part : *split) {
    parts.push_back({std::move(part.request), std::move(part.cells)});
  }
  std::vector<std::unique_ptr<Server>> opened;
  for (const std::string& address : servers) {
    auto server = std::make_unique<Server>();
    CommonFlags one = flags;
    one.server = std::string(absl::StripAsciiWhitespace(address));
    if (one.server.empty()) {
      return UsageError("--server: there is an empty name in the list");
    }
    server->address = one.server;
    // Another server is the other attempt.
    CLIENT_ASSIGN_OR_RETURN(
        server->session,
        OpenSession(one, RetryPolicy{.max_attempts = 1}, kKeepalive));
    opened.push_back(std::move(server));
  }
  const absl::Time deadline = absl::Now() + opened.front()->session.timeout;
  SpreadCall call(std::move(parts), std::move(opened), deadline, reporter);
  {
    const InterruptScope interrupt([&call] { call.Cancel(); });
    received.status = call.Run();
    received.signal = InterruptScope::signal();
  }
  received.cells = call.cells();
  const bool partial =
      absl::IsDeadlineExceeded(received.status) && !received.cells.empty();
  if (!received.status.ok() && !partial) return received;
  CLIENT_ASSIGN_OR_RETURN(
      received.summary,
      MergeEvaluation(request, received.cells, call.manifests(), partial));
  received.status = absl::OkStatus();
  return received;
}

}  // namespace locus::client
