#include "client/cli/commands/evaluate_call.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/base/status_macros.h"
#include "client/cli/distributed/distributed_evaluation.h"
#include "client/cli/render/progress.h"
#include "client/cli/support/interrupt.h"
#include "client/cli/support/terminal.h"

namespace locus::client {
namespace {

ReceivedEvaluation CallSingleServer(
    Client& client, const v1::EvaluateExtrapolationRequest& request,
    ProgressReporter& reporter) {
  ReceivedEvaluation received;
  CancellationToken cancellation;
  const SignalScope interrupt([&cancellation] { cancellation.Cancel(); });
  received.status = client.EvaluateExtrapolation(
      request,
      [&](const v1::EvaluateExtrapolationResponse& event) {
        reporter.On(event, absl::Now());
        if (event.has_cell()) received.cells.push_back(event.cell());
        if (event.has_summary()) received.summary = event.summary();
        return true;
      },
      {.cancellation = &cancellation});
  reporter.Finish();
  received.signal = SignalScope::signal();
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
    return EvaluateDistributed(flags, servers, request, reporter);
  }
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags));
  return CallSingleServer(*session.client, request, reporter);
}

}  // namespace locus::client
