// One load, or the search for the highest rate that holds.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/requests/load_plan.h"
#include "client/load/report.h"
#include "client/load/runner.h"

namespace locus::client {

// What does not depend on the plan. Says how it goes on standard error unless
// `quiet`.
struct LoadRunner {
  load::RunOptions options;
  bool quiet = false;

  // `prefix` stands before every line that says how it goes.
  load::Result Run(const LoadPlan& plan, const std::string& prefix = "");
};

// Tries rates until it knows the highest that keeps the limits, which include
// one on errors: 0.1 % unless they have their own. `flags` make the plan of
// each trial.
absl::StatusOr<load::Report> SearchRate(const LoadPlanFlags& flags,
                                        std::vector<load::Limit> limits,
                                        LoadRunner& runner);

}  // namespace locus::client
