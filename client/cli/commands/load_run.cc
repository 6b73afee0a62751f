#include "client/cli/commands/load_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/support/terminal.h"
#include "client/load/progress_line.h"
#include "client/load/rate_search.h"
#include "client/load/units.h"

namespace locus::client {
namespace {

load::Trial TrialOf(double rate, const std::vector<load::Slo>& slos,
                    const load::Result& result) {
  load::Trial trial{.rate = rate,
                    .throughput = result.Throughput(),
                    .violations = load::Violations(slos, result)};
  for (const load::Slo& slo : slos) {
    trial.measured.push_back(load::Measure(slo, result));
  }
  trial.meets_slos = trial.violations.empty();
  return trial;
}

}  // namespace

load::Result LoadRunner::Run(const LoadPlan& plan, const std::string& prefix) {
  load::ProgressLine progress(
      {.columns = ErrorColumns(),
       .quiet = quiet,
       .warm_up_seconds = load::ToSeconds(plan.warm_up_nanos),
       .prefix = prefix,
       .write = WriteProgress});
  options.setup.load = plan.text;
  options.setup.offered_rate = plan.offered_rate;
  options.setup.warm_up_seconds = load::ToSeconds(plan.warm_up_nanos);
  options.setup.duration_seconds =
      load::ToSeconds(plan.length_nanos - plan.warm_up_nanos);
  options.make_schedule = plan.make_schedule;
  options.concurrency = plan.concurrency;
  options.warm_up_nanos = plan.warm_up_nanos;
  options.length_nanos = plan.length_nanos;
  options.on_interval = [&progress](const load::Interval& interval) {
    progress.Update(interval);
  };
  load::Result result = load::RunLoad(options);
  progress.Clear();
  return result;
}

absl::StatusOr<load::Report> SearchRate(const LoadPlanFlags& flags,
                                        std::vector<load::Slo> slos,
                                        LoadRunner& runner) {
  if (!load::HasErrorSlo(slos)) {
    slos.push_back(load::ParseSlo("errors=0.1%").value());
  }
  load::Report report{.search = load::Search()};
  load::Search& search = *report.search;
  for (const load::Slo& slo : slos) search.slos.push_back(slo.text);
  load::RateSearchOptions options;
  if (flags.rate.has_value()) options.first_rate = *flags.rate;
  if (flags.max_rate.has_value()) options.max_rate = *flags.max_rate;
  load::RateSearch steps(options);
  LoadPlanFlags trial_flags = flags;
  while (const auto rate = steps.Next()) {
    trial_flags.rate = *rate;
    CLIENT_ASSIGN_OR_RETURN(const LoadPlan plan, MakeLoadPlan(trial_flags));
    load::Result result =
        runner.Run(plan, absl::StrCat("at ", load::FormatRate(*rate), "/s: "));
    // An interrupted trial says nothing about its rate.
    const bool interrupted = result.interrupted;
    load::Trial trial = TrialOf(*rate, slos, result);
    if (!interrupted) steps.Report(trial.meets_slos);
    if (trial.meets_slos || !steps.best().has_value()) {
      report.result = std::move(result);
    }
    search.trials.push_back(std::move(trial));
    report.result.interrupted |= interrupted;
    if (interrupted) break;
  }
  search.best = steps.best();
  search.reached_max = steps.reached_max();
  return report;
}

}  // namespace locus::client
