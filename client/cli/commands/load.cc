#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/command.h"
#include "client/cli/support/interrupt.h"
#include "client/cli/load_commands.h"
#include "client/cli/render/load_output.h"
#include "client/cli/requests/load_plan.h"
#include "client/cli/requests/load_request.h"
#include "client/cli/commands/load_run.h"
#include "client/cli/support/terminal.h"
#include "client/cli/requests/seed_flag.h"
#include "client/cli/support/session.h"
#include "client/cli/support/cli_errors.h"
#include "client/load/connections.h"
#include "client/load/units.h"
#include "client/base/status_macros.h"
#include "grpcpp/support/slice.h"

namespace locus::client {
namespace {

constexpr char kExamples[] =
    R"(Calls start when they are due, whatever became of those before: latency counts
from the intended start, service time from the actual one. The server's own
times are shown beside them. --concurrency waits for answers instead.

Examples:
  locus load --rate 2000 --duration 30s
  locus load attend --length 128 --poisson --rate 200 --connections 8
  locus load attend --payload 1MiB --concurrency 4 -o run.json -o run.csv
  locus load --ramp 100:5000 --duration 1m --fail-above p99=20ms
  locus load --steps 500,1000,2000 --duration 30s
  locus load --replay starts.txt                  # a start time a line
  locus load health --rate 100 --server dns:///locus:50051
  locus load --slo p99=5ms                        # the highest rate that holds
  locus load compare before.json after.json

Exit codes: 0 done, 1 a call failed, or a limit of --slo or --fail-above was
not kept, 2 wrong usage. Ctrl-C ends it and reports what ran.)";

struct LoadFlags {
  CommonFlags common{.timeout = "10s"};
  LoadRequestFlags request;
  LoadPlanFlags plan;
  int connections = 1;
  int threads = 1;
  int max_in_flight = 10000;
  bool heed_pushback = false;
  std::string format = "text";
  std::vector<std::string> out;
  bool quiet = false;
};

absl::Status CheckFlags(const LoadFlags& flags) {
  for (const auto& [name, value, most] :
       {std::tuple{"--connections", flags.connections, 10000},
        std::tuple{"--threads", flags.threads, 256},
        std::tuple{"--max-in-flight", flags.max_in_flight, 1000000}}) {
    if (value < 1 || value > most) {
      return UsageError(
          absl::StrCat(name, ": is ", value, "; must be from 1 to ", most));
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
                   .threads = flags.threads};
  const grpc::Slice slice(bytes);
  options.target.method = request.method;
  options.target.request = grpc::ByteBuffer(&slice, 1);
  const auto timeout = load::ParseNanos(flags.common.timeout);
  if (!timeout.ok()) return AsUsage(timeout.status(), "--timeout");
  options.target.timeout_nanos = *timeout;
  options.threads = flags.threads;
  options.max_in_flight = flags.max_in_flight;
  options.heed_pushback = flags.heed_pushback;
  CLIENT_ASSIGN_OR_RETURN(options.channels,
                          OpenChannels(flags, session, *timeout));
  // One to each server at least.
  options.setup.connections = static_cast<int>(options.channels.size());
  return runner;
}

// What makes the command fail, of a single run.
std::vector<std::string> Failures(const std::vector<load::Limit>& limits,
                                  const load::Result& result) {
  std::vector<std::string> failures = load::Violations(limits, result);
  if (result.statistics.failed_count() > 0 && !load::HasErrorLimit(limits)) {
    failures.push_back(
        absl::StrCat(result.statistics.failed_count(), " calls failed",
                     " (--fail-above errors=1% would allow some)"));
  }
  return failures;
}

absl::StatusOr<load::Report> Measure(const LoadFlags& flags,
                                     const LoadPlan& plan, LoadRunner& runner) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<load::Limit> slo,
                          ParseLimits("--slo", flags.plan.slo));
  CLIENT_ASSIGN_OR_RETURN(const std::vector<load::Limit> limits,
                          ParseLimits("--fail-above", flags.plan.fail_above));
  Canceller canceller;
  const InterruptScope interrupt([&canceller] { canceller.Cancel(); });
  runner.options.canceller = &canceller;
  if (slo.empty()) {
    load::Report report{.result = runner.Run(plan)};
    report.violations = Failures(limits, report.result);
    return report;
  }
  CLIENT_ASSIGN_OR_RETURN(load::Report report,
                          SearchRate(flags.plan, slo, runner));
  if (!report.search->best.has_value() && !report.result.interrupted) {
    report.violations = {absl::StrCat(
        "no rate holds ", absl::StrJoin(report.search->limits, ", "))};
  }
  return report;
}

absl::StatusOr<Outcome> Run(const LoadFlags& flags) {
  CLIENT_RETURN_IF_ERROR(CheckFlags(flags));
  CLIENT_ASSIGN_OR_RETURN(const LoadPlan plan, MakeLoadPlan(flags.plan));
  for (const auto& texts : {flags.plan.slo, flags.plan.fail_above}) {
    CLIENT_RETURN_IF_ERROR(
        ParseLimits("--slo or --fail-above", texts).status());
  }
  CLIENT_ASSIGN_OR_RETURN(const LoadRequest request,
                          MakeLoadRequest(flags.request));
  CLIENT_ASSIGN_OR_RETURN(Session session, OpenSession(flags.common));
  CLIENT_RETURN_IF_ERROR(TryLoadRequest(request, *session.client));
  // Its connection is none of those that were asked for.
  session.client.reset();
  CLIENT_ASSIGN_OR_RETURN(LoadRunner runner,
                          MakeRunner(flags, request, session));
  CLIENT_ASSIGN_OR_RETURN(const load::Report report,
                          Measure(flags, plan, runner));
  Outcome outcome{
      .text = FormatLoadAs(flags.common.json ? "json" : flags.format, report)};
  // What was measured is told even where it cannot be kept.
  if (const absl::Status written = WriteLoadFiles(flags.out, report);
      !written.ok()) {
    WriteError(ErrorLine(written));
    outcome.exit_code = 1;
  }
  for (const std::string& violation : report.violations) {
    WriteError(violation);
  }
  if (!report.violations.empty()) outcome.exit_code = 1;
  if (const int signal = InterruptScope::signal(); signal != 0) {
    WriteError("interrupted");
    outcome.exit_code = 128 + signal;
  }
  return outcome;
}

// Adds to one group of the help.
auto Adder(CLI::App& command, const char* group) {
  return [&command, group](const char* name, auto& target, const char* type,
                           const std::string& description) {
    return command.add_option(name, target, description)
        ->type_name(type)
        ->group(group);
  };
}

void AddRequestFlags(CLI::App& command, LoadRequestFlags& flags) {
  command
      .add_option(
          "rpc", flags.rpc,
          absl::StrCat("What to call: ", absl::StrJoin(LoadRpcs(), ", ")))
      ->type_name("CALL")
      ->capture_default_str();
  const auto add = Adder(command, "Request");
  add("-s,--scheme", flags.scheme, "SCHEME",
      "As in `locus encode`; default rope, to check: all of them");
  add("-d,--dim", flags.dim, "N", "Width of embeddings or heads; default 64");
  add("--length", flags.length, "N",
      "Positions, default 16, or tokens to attend to, default 32");
  add("--heads", flags.head_count, "N",
      "Default 4 of attend, as the scheme "
      "has it of encode");
  add("--dtype", flags.dtype, "TYPE", "float32, float64, float16 or bfloat16")
      ->capture_default_str();
  add("--payload", flags.payload, "SIZE",
      "Tensors of this size in every request, 64KiB or 1MB, instead of a "
      "length");
  command.add_flag("--causal", flags.causal, "No token sees the next")
      ->group("Request");
}

void AddPlanFlags(CLI::App& command, LoadPlanFlags& flags) {
  const auto add = Adder(command, "Load");
  add("-r,--rate", flags.rate, "N",
      "Calls a second; default 1000; with --slo, where to begin: 100");
  add("--ramp", flags.ramp, "FROM:TO", "A rate that changes all the time");
  add("--steps", flags.steps, "LIST",
      "Rates one after the other, 500,1000,2000, each for its part of the time")
      ->delimiter(',')
      ->allow_extra_args(false);
  add("--replay", flags.replay, "FILE",
      "Start times from a file, one a line, in seconds or with a unit");
  add("-c,--concurrency", flags.concurrency, "N",
      "Closed loop: so many calls under way, each followed by the next");
  command
      .add_flag("--poisson", flags.poisson,
                "Calls come at random, as from many callers")
      ->group("Load");
  AddSeedFlag(command, flags.seed, "Of --poisson; default 0", "Load");
  add("-t,--duration", flags.duration, "TIME",
      "How long to measure; default 10s, each trial of --slo 3s");
  add("--warm-up", flags.warm_up, "TIME",
      "Before that, calls that do not count; default 1s, of a replay none");
  const auto limit = Adder(command, "Limits");
  limit("--slo", flags.slo, "LIMIT",
        "Search the highest rate that keeps p99=5ms, p99.9=20ms, mean=1ms, "
        "max=1s or errors=0.1%; may be repeated")
      ->allow_extra_args(false);
  limit("--max-rate", flags.max_rate, "N", "Search no further");
  limit("--fail-above", flags.fail_above, "LIMIT",
        "Exit with 1 if the run does not keep this; may be repeated")
      ->allow_extra_args(false);
}

}  // namespace

void AddLoad(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "load", "Call at a given rate, and measure what callers would see");
  command->footer(kExamples);
  auto flags = std::make_shared<LoadFlags>();
  AddRequestFlags(*command, flags->request);
  AddPlanFlags(*command, flags->plan);
  const auto client = Adder(*command, "Client");
  client("--connections", flags->connections, "N",
         "Sockets to the server; to several, to each in turn")
      ->capture_default_str();
  client("--threads", flags->threads, "N",
         "Pairs of threads that send and receive")
      ->capture_default_str();
  client("--max-in-flight", flags->max_in_flight, "N",
         "More calls than this at once have to wait; their latency counts all "
         "the same")
      ->capture_default_str();
  command
      ->add_flag("--heed-pushback", flags->heed_pushback,
                 "Send nothing over a connection while the server asks it to "
                 "wait; what is due counts as refused")
      ->group("Client");
  command
      ->add_option("--format", flags->format,
                   "Of standard output: text, json, csv or prometheus")
      ->type_name("FORMAT")
      ->capture_default_str();
  command
      ->add_option("-o,--out", flags->out,
                   "Also write .json, .csv, .prom or .txt; may be repeated")
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
