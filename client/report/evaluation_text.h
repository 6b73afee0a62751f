// The sentences of the report of an evaluation, as HTML.
#pragma once

#include <string>

#include "client/report/manifest.h"

namespace locus::client {

// Returns the title of the report.
std::string ReportTitle(const Manifest& manifest);
// Returns the question that the evaluation answers.
std::string QuestionHtml(const Manifest& manifest);
// Returns one line of facts: task, model, training, seeds and version.
std::string EvaluationFacts(const Manifest& manifest);
// Returns the card with the winner, or with the reason why there is none.
std::string VerdictCard(const Manifest& manifest);
// Returns three sentences about the meaning of the result and its limits.
std::string MeaningHtml(const Manifest& manifest);

}  // namespace locus::client
