#include "client/cli/commands/evaluate_call.h"

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/cli/distributed/distributed_evaluation.h"
#include "client/cli/support/interrupt.h"
#include "client/cli/support/terminal.h"
#include "client/cli/render/progress.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

ReceivedEvaluation CallOne(Client& client,
                           const v1::EvaluateExtrapolationRequest& request,
                           ProgressReporter& reporter) {
  ReceivedEvaluation received;
  Canceller canceller;
  const InterruptScope interrupt([&canceller] { canceller.Cancel(); });
  received.status = client.EvaluateExtrapolation(
      request,
      [&](const v1::EvaluateExtrapolationResponse& event) {
        reporter.On(event, absl::Now());
        if (event.has_cell()) received.cells.push_back(event.cell());
        if (event.has_summary()) received.summary = event.summary();
        return true;
      },
      {.canceller = &canceller});
  reporter.Finish();
  received.signal = InterruptScope::signal();
  return received;
}

}  // namespace

absl::StatusOr<ReceivedEvaluation> CallEvaluation(
    const CommonFlags& flags, const v1::EvaluateExtrapolationRequest& request,
    bool quiet) {
  ProgressReporter reporter(
      {.columns = ErrorColumns(), .quiet = quiet, .write = WriteProgress},
      absl::Now());
  const std::vector<std::string> servers = absl::StrSplit(flags.server, ',');
  if (servers.size() > 1) {
    return SpreadEvaluation(flags, servers, request, reporter);
  }
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags));
  return CallOne(*session.client, request, reporter);
}

}  // namespace locus::client
