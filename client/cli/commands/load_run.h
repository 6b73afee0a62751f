// Runs of `locus load`: a single run, or the search for the highest rate that
// meets the SLOs.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/requests/load_plan.h"
#include "client/load/report.h"
#include "client/load/runner.h"

namespace locus::client {

// Runs load plans with common settings. Writes progress to standard error
// unless `quiet` is set.
struct LoadRunner {
  // Settings that do not depend on the plan: target, channels, threads. Run()
  // sets the others.
  load::RunOptions options;
  bool quiet = false;

  // Runs `plan`. `prefix` is put in front of every progress line.
  load::Result Run(const LoadPlan& plan, const std::string& prefix = "");
};

// Searches for the highest rate that meets `slos`. Adds errors=0.1% to them
// unless they bound the errors already. The plan of each trial is made from
// `flags` with the rate of the trial.
absl::StatusOr<load::Report> SearchRate(const LoadPlanFlags& flags,
                                        std::vector<load::Slo> slos,
                                        LoadRunner& runner);

}  // namespace locus::client
