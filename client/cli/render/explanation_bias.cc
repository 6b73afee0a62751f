#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/render/column_blocks.h"
#include "client/cli/render/explanation.h"
#include "client/cli/render/number_text.h"
#include "client/cli/render/table.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr int kBiasTableWidth = 80;

// One row per head and one column per parameter of the heads.
std::string HeadTable(const v1::BiasEncoding& bias) {
  TableColumn labels = {"HEAD"};
  std::vector<ColumnGroup> groups;
  for (const v1::HeadNumbers& numbers : bias.head_numbers()) {
    TableColumn column = {numbers.name()};
    for (int h = 0; h < numbers.values_size(); ++h) {
      if (h + 1 == static_cast<int>(labels.size())) {
        labels.push_back(absl::StrCat(h));
      }
      column.push_back(ShortText(numbers.values(h)));
    }
    groups.push_back({std::move(column)});
  }
  return FormatColumnBlocks(labels, groups, kBiasTableWidth);
}

std::string SlopeTable(const v1::BiasEncoding& bias) {
  std::vector<std::vector<std::string>> rows = {
      {"HEAD", "SLOPE", "A WEIGHT HALVES EVERY"}};
  for (int h = 0; h < bias.slopes_size(); ++h) {
    const double slope = bias.slopes(h);
    rows.push_back(
        {absl::StrCat(h), ShortText(slope),
         absl::StrCat(ShortText(std::numbers::ln2 / slope), " positions")});
  }
  return FormatRows(rows);
}

std::string DistanceTable(const BiasByDistance& bias) {
  TableColumn labels = {"BIAS AT DISTANCE"};
  for (size_t h = 0; h < bias.heads.size(); ++h) {
    labels.push_back(absl::StrCat("head ", h));
  }
  std::vector<ColumnGroup> groups;
  for (const int64_t n : bias.Distances()) {
    TableColumn column = {absl::StrCat(n)};
    for (const std::vector<double>& head : bias.heads) {
      column.push_back(ShortText(head[n]));
    }
    groups.push_back({std::move(column)});
  }
  return FormatColumnBlocks(labels, groups, kBiasTableWidth);
}

// "2 of 8 heads (0 to 1)", "Both heads" or "All 8 heads".
std::string CountOf(const std::vector<int64_t>& heads,
                    const BiasVerdict& verdict) {
  const size_t total = verdict.heads.size();
  if (heads.size() == total) {
    return total == 1   ? "The head"
           : total == 2 ? "Both heads"
                        : absl::StrCat("All ", total, " heads");
  }
  return absl::StrCat(heads.size(), " of ", total, " heads (", SpanText(heads),
                      ")");
}

// The first of the given heads with the largest change at the target length.
int64_t LargestChange(const std::vector<int64_t>& heads,
                      const BiasVerdict& verdict) {
  const auto change = [&](int64_t h) {
    const HeadBiasRange& range = verdict.heads[h];
    return std::max(range.trained_low - range.target_low,
                    range.target_high - range.trained_high);
  };
  return *std::max_element(
      heads.begin(), heads.end(),
      [&](int64_t a, int64_t b) { return change(a) < change(b); });
}

std::string WithinSentence(const BiasVerdict& verdict) {
  return absl::StrCat(
      CountOf(verdict.within, verdict),
      verdict.within.size() == 1 ? " stays" : " stay",
      " within trained biases at ", TokenCountText(verdict.target_length),
      " tokens: no key gets a bias that training did not have.");
}

std::string BelowSentence(const BiasVerdict& verdict) {
  const int64_t h = LargestChange(verdict.below, verdict);
  return absl::StrCat(
      CountOf(verdict.below, verdict),
      verdict.below.size() == 1 ? " falls" : " fall",
      " below trained biases at ", TokenCountText(verdict.target_length),
      " tokens, head ", h, " from ", ShortText(verdict.heads[h].trained_low),
      " to ", ShortText(verdict.heads[h].target_low),
      ": keys past the trained ", TokenCountText(verdict.trained_length),
      " get less weight than any key in training.");
}

std::string AboveSentence(const BiasVerdict& verdict) {
  const int64_t h = LargestChange(verdict.above, verdict);
  return absl::StrCat(
      CountOf(verdict.above, verdict),
      verdict.above.size() == 1 ? " rises" : " rise",
      " above trained biases at ", TokenCountText(verdict.target_length),
      " tokens, head ", h, " from ", ShortText(verdict.heads[h].trained_high),
      " to ", ShortText(verdict.heads[h].target_high),
      ": distant keys get more weight than any key in training.");
}

}  // namespace

std::vector<std::string> BiasVerdictSentences(
    const BiasVerdict& verdict, const std::string& beyond_training) {
  std::string headline = PrintableLine(beyond_training);
  if (!headline.empty()) headline[0] = absl::ascii_tolower(headline[0]);
  std::vector<std::string> sentences = {
      absl::StrCat("Verdict: past the trained length, ", headline)};
  if (!verdict.is_known()) {
    sentences.push_back(
        "Set the lengths with --trained and --target to compare the biases of "
        "both.");
    return sentences;
  }
  if (!verdict.within.empty()) sentences.push_back(WithinSentence(verdict));
  if (!verdict.below.empty()) sentences.push_back(BelowSentence(verdict));
  if (!verdict.above.empty()) sentences.push_back(AboveSentence(verdict));
  return sentences;
}

nlohmann::ordered_json BiasVerdictJson(const BiasVerdict& verdict,
                                       const std::string& beyond_training) {
  nlohmann::ordered_json json = {{"beyond_training", beyond_training}};
  if (verdict.is_known()) {
    json["trained_length"] = verdict.trained_length;
    json["target_length"] = verdict.target_length;
    json["heads_within"] = verdict.within;
    json["heads_below"] = verdict.below;
    json["heads_above"] = verdict.above;
  }
  json["text"] =
      absl::StrJoin(BiasVerdictSentences(verdict, beyond_training), " ");
  return json;
}

absl::StatusOr<std::string> ExplainBias(const v1::BiasEncoding& bias) {
  CLIENT_ASSIGN_OR_RETURN(const BiasByDistance by_distance, ByDistance(bias));
  std::string text;
  if (bias.slopes_size() > 0) absl::StrAppend(&text, SlopeTable(bias), "\n");
  if (bias.head_numbers_size() > 0) {
    absl::StrAppend(&text, HeadTable(bias), "\n");
  }
  if (bias.bucket_edges_size() > 0) {
    absl::StrAppend(
        &text,
        Paragraph(absl::StrCat("a new bucket begins at distances ",
                               absl::StrJoin(bias.bucket_edges(), ", "))),
        "\n");
  }
  return absl::StrCat(text, DistanceTable(by_distance));
}

absl::StatusOr<nlohmann::ordered_json> BiasJson(const v1::BiasEncoding& bias) {
  CLIENT_ASSIGN_OR_RETURN(const BiasByDistance by_distance, ByDistance(bias));
  nlohmann::ordered_json json = {{"slopes", bias.slopes()},
                                 {"bucket_edges", bias.bucket_edges()}};
  for (const v1::HeadNumbers& numbers : bias.head_numbers()) {
    json[numbers.name()] = numbers.values();
  }
  json["distances"] = by_distance.Distances();
  for (const std::vector<double>& head : by_distance.heads) {
    nlohmann::ordered_json at;
    for (const int64_t n : by_distance.Distances()) at.push_back(head[n]);
    json["bias"].push_back(std::move(at));
  }
  return json;
}

}  // namespace locus::client
