// The hand-in folder of a lab.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/labs/lab.h"
#include "client/cli/labs/lab_report.h"

namespace locus::client {

// The command line that repeats the run, without --out.
std::string LabCommand(const Lab& lab, const LabOptions& options);

// The manifest: experiment, date, seed, versions, config and results_summary.
std::string LabManifest(const Lab& lab, const LabOptions& options,
                        const LabReport& report, absl::Time now);

// The README: summary, command, assertions, figures, interpretation and
// questions.
std::string LabReadme(const Lab& lab, const LabOptions& options,
                      const LabReport& report);

// Writes demo_output.txt, README.md, manifest.json, and every figure as SVG and
// PNG. If a file cannot be written, nothing changes. Returns the number of
// files.
absl::StatusOr<int> WriteLab(const std::string& folder, const Lab& lab,
                             const LabOptions& options, const LabReport& report,
                             absl::Time now);

}  // namespace locus::client
