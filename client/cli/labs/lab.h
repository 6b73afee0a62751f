// The labs of the course, run by `locus lab NAME`.
//
// A lab calls the service, tells a story with its numbers, checks assertions,
// and draws figures. Its hand-in folder is written by lab_files.h. All labs are
// deterministic: the same options give the same report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cli/labs/lab_report.h"
#include "client/cli/labs/text.h"
#include "locus/client/client.h"

namespace locus::client {

// The options of one run. Options that are not set select the defaults of the
// lab.
struct LabOptions {
  Language language = Language::kEnglish;
  // Whether the README answers its questions.
  bool answers = false;
  uint64_t seed = 0;
  std::vector<std::string> tokens;
  std::optional<int64_t> dim;
  std::optional<int64_t> seed_count;
  std::optional<int64_t> step_count;
};

// A question that the README asks, and its answer.
struct Question {
  Text question;
  Text answer;
};

// Description of a lab.
struct Lab {
  absl::string_view name;
  Text title;
  // Description of the lab in one or two sentences, for the README.
  Text summary;
  absl::Span<const Question> questions;
  // Whether the lab has the options `tokens`, `dim`, and `seed_count` and
  // `step_count`.
  bool has_tokens = false;
  bool has_dim = false;
  bool is_trained = false;
  // Runs the lab. Errors are those of the service; a failed assertion is not an
  // error.
  absl::Status (*run)(const LabOptions& options, Client& client,
                      LabReport& report);
};

// Each function returns one lab.
Lab EquivarianceLab();
Lab SinusoidalLab();
Lab RopeLab();
Lab AlibiLab();
Lab PropertiesLab();
Lab OrderingLab();
Lab ExtrapolationLab();

// All labs, in the order of the course.
absl::Span<const Lab> Labs();

}  // namespace locus::client
