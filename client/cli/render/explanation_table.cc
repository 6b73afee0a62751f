#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/printable.h"
#include "client/cli/render/explanation.h"
#include "client/cli/render/number_text.h"
#include "nlohmann/json.hpp"

namespace locus::client {

int64_t TableFacts::UntrainedRows() const {
  if (trained_length <= 0) return 0;
  return std::max<int64_t>(
      table_length - static_cast<int64_t>(std::ceil(trained_length)), 0);
}

int64_t TableFacts::SafeLength() const {
  return table_length - UntrainedRows();
}

namespace {

// A sentence about the policy for positions past the table.
std::string PolicySentence(const TableFacts& facts) {
  const std::string later =
      absl::StrCat("Positions from ", facts.table_length, " on ");
  if (facts.policy == "ERROR") {
    return absl::StrCat("Sequences longer than ", facts.table_length,
                        " tokens are rejected.");
  }
  if (facts.policy == "CLAMP") {
    return absl::StrCat(later,
                        "share the last row, so that their order is lost.");
  }
  if (facts.policy == "WRAP") {
    return absl::StrCat(later, "repeat the table: positions that are ",
                        facts.table_length, " apart look the same.");
  }
  if (facts.policy == "ZERO") {
    return absl::StrCat(later, "get no code.");
  }
  if (facts.policy == "RANDOM") {
    return absl::StrCat(later, "get random rows that were never trained.");
  }
  if (facts.policy == "INTERPOLATE") {
    return absl::StrCat(
        "Sequences longer than ", facts.table_length,
        " tokens stretch the table: all positions get other codes than in "
        "training, and adjacent ones become more alike.");
  }
  return absl::StrCat(later, "are handled by the policy ",
                      PrintableLine(facts.policy), ".");
}

}  // namespace

std::vector<std::string> TableVerdictSentences(const TableFacts& facts) {
  std::vector<std::string> sentences;
  if (facts.trained_length <= 0) {
    sentences = {
        absl::StrCat("Verdict: safe up to ", facts.table_length,
                     " tokens, the length of the table, if training reaches "
                     "every row; set its length with --trained.")};
  } else {
    sentences = {absl::StrCat(
        "Verdict: safe up to ", facts.SafeLength(), " tokens, the length of ",
        facts.UntrainedRows() > 0 ? "the training." : "the table.")};
  }
  if (facts.UntrainedRows() > 0) {
    sentences.push_back(absl::StrCat(
        "The last ", facts.UntrainedRows(),
        " rows are as they were drawn: no training sequence of ",
        TokenCountText(facts.trained_length), " tokens reaches them."));
  } else if (facts.trained_length > 0) {
    sentences.push_back("Training reaches every row.");
  }
  sentences.push_back(PolicySentence(facts));
  return sentences;
}

std::string ExplainTable(const TableFacts& facts) {
  return absl::StrCat(
      Paragraph(absl::StrCat(facts.table_length, " rows: positions 0 to ",
                             facts.table_length - 1,
                             " have one of their own; policy past them: ",
                             PrintableLine(facts.policy))),
      "\n", SentenceList(TableVerdictSentences(facts)));
}

nlohmann::ordered_json TableJson(const TableFacts& facts) {
  nlohmann::ordered_json json = {{"table_length", facts.table_length},
                                 {"policy", facts.policy}};
  if (facts.trained_length > 0) {
    json["trained_length"] = facts.trained_length;
    json["untrained_rows"] = facts.UntrainedRows();
  }
  json["verdict"] = {
      {"safe_length", facts.SafeLength()},
      {"text", absl::StrJoin(TableVerdictSentences(facts), " ")}};
  return json;
}

}  // namespace locus::client
