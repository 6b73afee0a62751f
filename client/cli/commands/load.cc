#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/commands/load_run.h"
#include "client/cli/render/load_output.h"
#include "client/cli/requests/load_plan.h"
#include "client/cli/requests/load_request.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/command_line.h"
#include "client/cli/support/interrupt.h"
#include "client/cli/support/option_group.h"
#include "client/cli/support/session.h"
#include "client/cli/support/terminal.h"
#include "client/load/connections.h"
#include "client/load/units.h"
#include "grpcpp/support/slice.h"

namespace locus::client {
namespace {

constexpr char kLoadExamples[] =
    R"(Open loop: each call starts at its scheduled time, whether or not earlier calls
have finished. Latency is measured from the scheduled start (no coordinated
omission), service time from the actual start. The queue and compute times that
the server reports are shown as well. --concurrency runs a closed loop instead.

Examples:
  locus load --rate 2000 --duration 30s
  locus load attend --length 128 --poisson --rate 200 --connections 8
  locus load attend --payload 1MiB --concurrency 4 -o run.html -o run.json
  locus load --ramp 100:5000 --duration 1m --fail-above p99=20ms
  locus load --steps 500,1000,2000 --duration 30s
  locus load --replay starts.txt                  # one start time per line
  locus load health --rate 100 --server dns:///locus:50051
  locus load --slo p99=5ms                        # the highest rate within it
  locus load compare before.json after.json

Exit codes: 0 success, 1 a call failed or an objective of --slo or --fail-above
was missed, 2 usage error, 130 interrupted. Ctrl-C stops the run and prints the
report so far, but writes no file.)";

struct LoadFlags {
  CommonFlags common{.timeout = "10s"};
  LoadRequestFlags request;
  LoadPlanFlags plan;
  int connections = 1;
  int threads = 1;
  int max_in_flight = 10000;
  bool respect_pushback = false;
  std::string format = "text";
  std::vector<std::string> out;
  bool quiet = false;
};

absl::Status ValidateFlags(const LoadFlags& flags) {
  for (const auto& [name, value, max] :
       {std::tuple{"--connections", flags.connections, 10000},
        std::tuple{"--threads", flags.threads, 256},
        std::tuple{"--max-in-flight", flags.max_in_flight, 1000000}}) {
    if (value < 1 || value > max) {
      return UsageError(
          absl::StrCat(name, ": is ", value, "; must be from 1 to ", max));
    }
  }
  if (flags.common.json && flags.format != "text") {
    return UsageError("--json and --format: give one");
  }
  CLIENT_RETURN_IF_ERROR(CheckLoadFormat(flags.format));
  return CheckLoadFiles(flags.out);
}

absl::StatusOr<std::vector<std::shared_ptr<grpc::Channel>>> OpenChannels(
    const LoadFlags& flags, const Session& session, int64_t timeout_nanos) {
  if (session.server == nullptr) {
    return load::OpenConnections(flags.common.server, flags.connections,
                                 timeout_nanos, flags.common.security);
  }
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < flags.connections; ++i) {
    channels.push_back(session.server->Channel({}));
  }
  return channels;
}

absl::StatusOr<LoadRunner> MakeRunner(const LoadFlags& flags,
                                      const LoadRequest& request,
                                      const Session& session) {
  LoadRunner runner{.quiet = flags.quiet};
  load::RunOptions& options = runner.options;
  const std::string bytes = request.Serialized();
  options.setup = {.server = session.server == nullptr
                                 ? flags.common.server
                                 : "a server in this process",
                   .method = request.method,
                   .request_bytes = static_cast<int64_t>(bytes.size()),
                   .threads = flags.threads,
                   .command = RecordedCommandLine()};
  const grpc::Slice slice(bytes);
  options.target.method = request.method;
  options.target.request = grpc::ByteBuffer(&slice, 1);
  const auto timeout = load::ParseNanos(flags.common.timeout);
  if (!timeout.ok()) return AsUsage(timeout.status(), "--timeout");
  options.target.timeout_nanos = *timeout;
  options.threads = flags.threads;
  options.max_in_flight = flags.max_in_flight;
  options.respect_pushback = flags.respect_pushback;
  CLIENT_ASSIGN_OR_RETURN(options.channels,
                          OpenChannels(flags, session, *timeout));
  // There is at least one connection to each server.
  options.setup.connections = static_cast<int>(options.channels.size());
  return runner;
}

// The parsed values of --slo and --fail-above.
struct Objectives {
  // Objectives of the rate search; empty for a single run.
  std::vector<load::Slo> search;
  // Objectives that a single run must meet.
  std::vector<load::Slo> required;
};

absl::StatusOr<Objectives> ParseObjectives(const LoadPlanFlags& flags) {
  Objectives objectives;
  CLIENT_ASSIGN_OR_RETURN(objectives.search, ParseSlos("--slo", flags.slo));
  CLIENT_ASSIGN_OR_RETURN(objectives.required,
                          ParseSlos("--fail-above", flags.fail_above));
  return objectives;
}

// The reasons for which a single run exits with 1: missed objectives, and
// failed calls unless an objective allows some.
std::vector<std::string> Failures(const std::vector<load::Slo>& slos,
                                  const load::Result& result) {
  std::vector<std::string> failures = load::Violations(slos, result);
  if (result.statistics.failed_count() > 0 && !load::HasErrorSlo(slos)) {
    failures.push_back(
        absl::StrCat(result.statistics.failed_count(), " calls failed",
                     " (--fail-above errors=1% would allow some)"));
  }
  return failures;
}

// Runs the load once, or searches for the highest rate if --slo is given.
absl::StatusOr<load::Report> Measure(const LoadFlags& flags,
                                     const Objectives& objectives,
                                     const LoadPlan& plan, LoadRunner& runner) {
  CancellationToken cancellation;
  const SignalScope interrupt([&cancellation] { cancellation.Cancel(); });
  runner.options.cancellation = &cancellation;
  if (objectives.search.empty()) {
    load::Report report{.result = runner.Run(plan)};
    report.violations = Failures(objectives.required, report.result);
    return report;
  }
  CLIENT_ASSIGN_OR_RETURN(load::Report report,
                          SearchRate(flags.plan, objectives.search, runner));
  if (!report.search->best.has_value() && !report.result.interrupted) {
    report.violations = {absl::StrCat(
        "no rate holds ", absl::StrJoin(report.search->slos, ", "))};
  }
  return report;
}

absl::StatusOr<Outcome> Run(const LoadFlags& flags) {
  CLIENT_RETURN_IF_ERROR(ValidateFlags(flags));
  CLIENT_ASSIGN_OR_RETURN(const LoadPlan plan, MakeLoadPlan(flags.plan));
  CLIENT_ASSIGN_OR_RETURN(const Objectives objectives,
                          ParseObjectives(flags.plan));
  CLIENT_ASSIGN_OR_RETURN(const LoadRequest request,
                          MakeLoadRequest(flags.request));
  CLIENT_ASSIGN_OR_RETURN(Session session, OpenSession(flags.common));
  CLIENT_RETURN_IF_ERROR(TryLoadRequest(request, *session.client));
  // Close the connection of the trial call; the run opens its own.
  session.client.reset();
  CLIENT_ASSIGN_OR_RETURN(LoadRunner runner,
                          MakeRunner(flags, request, session));
  CLIENT_ASSIGN_OR_RETURN(const load::Report report,
                          Measure(flags, objectives, plan, runner));
  const int signal = SignalScope::signal();
  Outcome outcome;
  // An incomplete run does not replace the report of an earlier one.
  const std::vector<std::string> paths =
      signal == 0 ? flags.out : std::vector<std::string>();
  if (const absl::Status written = PrintThenWrite(
          FormatLoadAs(flags.common.json ? "json" : flags.format, report),
          [&] { return WriteLoadFiles(paths, report); });
      !written.ok()) {
    WriteError(ErrorLine(written));
    outcome.exit_code = 1;
  }
  for (const std::string& violation : report.violations) {
    WriteError(violation);
  }
  if (!report.violations.empty()) outcome.exit_code = 1;
  if (signal != 0) {
    WriteError(flags.out.empty() ? "interrupted"
                                 : "interrupted; no file was written");
    outcome.exit_code = 128 + signal;
  }
  return outcome;
}

void AddRequestFlags(CLI::App& command, LoadRequestFlags& flags) {
  command
      .add_option(
          "rpc", flags.rpc,
          absl::StrCat("Call to make: ", absl::StrJoin(LoadRpcs(), ", ")))
      ->type_name("CALL")
      ->capture_default_str();
  const auto add = OptionGroup(command, "Request");
  add("-s,--scheme", flags.scheme, "SCHEME",
      "As in `locus encode`; default rope, for check-properties all schemes");
  add("-d,--dim", flags.dim, "N",
      "Width of the embeddings or of one head; default 64");
  add("--length", flags.length, "N",
      "Number of positions, default 16; for attend, of tokens, default 32");
  add("--heads", flags.head_count, "N",
      "Number of heads; default 4 for attend, by scheme for encode");
  add("--dtype", flags.dtype, "TYPE",
      "Type of tensors: float32, float64, float16 or bfloat16")
      ->capture_default_str();
  add("--payload", flags.payload, "SIZE",
      "Size of the tensors in a request, such as 64KiB or 1MB, instead of "
      "--length");
  command.add_flag("--causal", flags.causal, "Hide keys after the query")
      ->group("Request");
}

void AddPlanFlags(CLI::App& command, LoadPlanFlags& flags) {
  const auto add = OptionGroup(command, "Load");
  add("-r,--rate", flags.rate, "N",
      "Calls per second; default 1000; with --slo, the first rate, default "
      "100");
  add("--ramp", flags.ramp, "FROM:TO",
      "Rate that changes linearly over the run");
  add("--steps", flags.steps, "LIST",
      "Rates one after another, such as 500,1000,2000, each for an equal part "
      "of the run")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--replay", flags.replay, "FILE",
      "File of start times, one per line, in seconds or with a unit");
  add("-c,--concurrency", flags.concurrency, "N",
      "Closed loop: keep N calls in flight");
  command
      .add_flag("--poisson", flags.poisson,
                "Poisson arrivals, as from many independent callers")
      ->group("Load");
  AddSeedFlag(command, flags.seed, "Seed of --poisson; default 0", "Load");
  add("--duration", flags.duration, "TIME",
      "Measured time; default 10s, for each trial of --slo 3s");
  add("--warm-up", flags.warm_up, "TIME",
      "Time before that, not measured; default 1s, for --replay 0");
  const auto objective = OptionGroup(command, "Objectives");
  objective("--slo", flags.slo, "SLO",
            "Search for the highest rate within p99=5ms, p99.9=20ms, mean=1ms, "
            "max=1s or errors=0.1%; may be repeated")
      ->allow_extra_args(false);
  objective("--max-rate", flags.max_rate, "N", "Maximum rate of the search");
  objective("--fail-above", flags.fail_above, "SLO",
            "Exit with 1 if the run misses this objective; may be repeated")
      ->allow_extra_args(false);
}

}  // namespace

void AddLoad(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "load", "Load test: call at a given rate and measure latency");
  command->footer(kLoadExamples);
  auto flags = std::make_shared<LoadFlags>();
  AddRequestFlags(*command, flags->request);
  AddPlanFlags(*command, flags->plan);
  const auto client = OptionGroup(*command, "Client");
  client("--connections", flags->connections, "N",
         "Number of connections; with several servers, distributed over them")
      ->capture_default_str();
  client("--threads", flags->threads, "N",
         "Number of thread pairs; in each, one sends and one receives")
      ->capture_default_str();
  client("--max-in-flight", flags->max_in_flight, "N",
         "Maximum number of calls in flight; later calls wait, and their "
         "latency includes the wait")
      ->capture_default_str();
  command
      ->add_flag(
          "--respect-pushback", flags->respect_pushback,
          "Send nothing over a connection until the retry delay of a "
          "rejection has passed; calls due meanwhile count as suppressed")
      ->group("Client");
  command
      ->add_option("--format", flags->format,
                   "Format of standard output: text, json, csv, html or "
                   "prometheus")
      ->type_name("FORMAT")
      ->capture_default_str();
  command
      ->add_option(
          "-o,--out,--output", flags->out,
          "Also write the report to an .html, .json, .csv, .prom or .txt file; "
          "may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_flag("-q,--quiet", flags->quiet, "Show no progress");
  AddCommonFlags(*command, flags->common);
  AddLoadCompare(*command, action);
  command->callback([flags, command, &action] {
    if (!command->get_subcommands().empty()) return;
    action = [flags] { return Run(*flags); };
  });
}

}  // namespace locus::client
