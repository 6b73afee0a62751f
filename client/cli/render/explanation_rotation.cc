#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/render/explanation.h"
#include "client/cli/render/number_text.h"
#include "client/cli/render/table.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr char kTimes[] = "\xc3\x97";  // U+00D7 MULTIPLICATION SIGN

bool HasTwoLengths(const RotationFacts& facts) {
  return facts.has_scaling() || facts.target_length != facts.trained_length;
}

std::vector<std::string> PairHeader(const RotationFacts& facts,
                                    const AngleVerdict& verdict) {
  std::vector<std::string> header = {"PAIR", "FREQUENCY", "WAVELENGTH"};
  if (facts.has_scaling()) header.insert(header.end(), {"STRETCH", "RAMP"});
  if (!facts.decays.empty()) header.push_back("HALVES EVERY");
  if (verdict.is_known()) {
    header.push_back(absl::StrCat("IN ", TokenCountText(facts.trained_length)));
    if (HasTwoLengths(facts)) {
      header.push_back(
          absl::StrCat("IN ", TokenCountText(facts.target_length)));
    }
    header.push_back("ANGLES");
  }
  return header;
}

std::vector<std::string> PairRow(const RotationFacts& facts,
                                 const AngleVerdict& verdict, int64_t k) {
  std::vector<std::string> row = {absl::StrCat(k),
                                  ShortText(facts.frequencies[k]),
                                  ShortText(facts.Wavelength(k))};
  if (facts.has_scaling()) {
    row.push_back(ShortText(facts.Stretch(k)));
    row.push_back(absl::StrCat(std::round(1000 * facts.ramp[k]) / 1000));
  }
  if (!facts.decays.empty()) {
    row.push_back(ShortText(-std::numbers::ln2 / std::log(facts.decays[k])));
  }
  if (verdict.is_known()) {
    row.push_back(ShortText(facts.trained_turns[k]));
    if (HasTwoLengths(facts)) row.push_back(ShortText(facts.target_turns[k]));
    row.push_back(AnglesText(verdict.pairs[k]));
  } else if (facts.IsStatic(k)) {
    row.push_back("not rotated");
  }
  return row;
}

// The line above the table: what the columns of turns mean.
std::string PairTitle(const RotationFacts& facts, const AngleVerdict& verdict) {
  if (!verdict.is_known()) return "";
  std::string title =
      absl::StrCat("Turns of each pair in ",
                   TokenCountText(facts.trained_length), " tokens of training");
  if (HasTwoLengths(facts)) {
    absl::StrAppend(&title, " and in ", TokenCountText(facts.target_length),
                    facts.has_scaling() ? " with the scaling" : " tokens");
  }
  return Paragraph(absl::StrCat(title, ":")) + "\n";
}

// "29 of 64 pairs (35 to 63)".
std::string CountOf(const std::vector<int64_t>& pairs,
                    const RotationFacts& facts) {
  return absl::StrCat(pairs.size(), " of ", facts.pair_count(), " pairs (",
                      SpanText(pairs), ")");
}

// "2", or "2.4 to 4" if the numbers differ in the first three digits.
std::string RangeText(double low, double high) {
  const auto rounded = [](double value) {
    const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
    return ShortText(std::round(value / unit) * unit);
  };
  if (!(low > 0) || std::isinf(high)) return ShortText(high);
  return rounded(low) == rounded(high)
             ? rounded(high)
             : absl::StrCat(rounded(low), " to ", rounded(high));
}

// The range of the stretch of some pairs.
std::string StretchOf(const std::vector<int64_t>& pairs,
                      const RotationFacts& facts) {
  double low = kAnyLength;
  double high = 0;
  for (const int64_t k : pairs) {
    low = std::min(low, facts.Stretch(k));
    high = std::max(high, facts.Stretch(k));
  }
  return RangeText(low, high);
}

const char* Verb(size_t count, const char* singular, const char* plural) {
  return count == 1 ? singular : plural;
}

std::string Headline(const RotationFacts& facts, const AngleVerdict& verdict) {
  const std::string target = TokenCountText(facts.target_length);
  if (verdict.is_safe) {
    return absl::StrCat(
        "Verdict: safe at ", target, " tokens. ",
        verdict.fixed.size() == verdict.pairs.size()
            ? "No pair rotates."
            : "Every pair stays within the angles of its training.");
  }
  return absl::StrCat("Verdict: not safe at ", target, " tokens. ",
                      CountOf(verdict.beyond, facts), " ",
                      Verb(verdict.beyond.size(), "reaches ", "reach "),
                      RangeText(verdict.min_reach, verdict.max_reach),
                      Verb(verdict.beyond.size(), " times its trained angle.",
                           " times their trained angles."));
}

// Sentences about the pairs in each range other than kBeyond.
void AddCoverage(const RotationFacts& facts, const AngleVerdict& verdict,
                 std::vector<std::string>& sentences) {
  if (!verdict.full_turn.empty()) {
    const size_t count = verdict.full_turn.size();
    sentences.push_back(
        absl::StrCat(CountOf(verdict.full_turn, facts),
                     Verb(count, " completes a turn in training and has",
                          " complete a turn in training and have"),
                     " seen all angles."));
  }
  if (!verdict.within.empty()) {
    const size_t count = verdict.within.size();
    sentences.push_back(absl::StrCat(
        CountOf(verdict.within, facts), Verb(count, " completes", " complete"),
        " no turn in training; ",
        facts.has_scaling()
            ? absl::StrCat("stretched by ", StretchOf(verdict.within, facts),
                           ", ")
            : "",
        Verb(count, "it stays", "they stay"), " within trained angles at ",
        TokenCountText(facts.target_length), "."));
  }
  if (!verdict.fixed.empty()) {
    sentences.push_back(
        absl::StrCat(CountOf(verdict.fixed, facts),
                     Verb(verdict.fixed.size(), " does", " do"),
                     " not rotate: the angle is 0 at every position."));
  }
}

// A sentence about the longest safe length, and why the target exceeds it.
std::string SafeLengthSentence(const RotationFacts& facts,
                               const AngleVerdict& verdict) {
  if (verdict.safe_length == kAnyLength) {
    return "No length reaches new angles, though longer inputs combine the "
           "angles of pairs in new ways.";
  }
  const double times = verdict.safe_length / facts.trained_length;
  std::string text = absl::StrCat(
      "Safe up to ", TokenCountText(verdict.safe_length), " tokens, ");
  if (verdict.safe_length == facts.trained_length) {
    absl::StrAppend(&text, "the trained length");
  } else {
    absl::StrAppend(&text, RangeText(times, times), " times the trained ",
                    TokenCountText(facts.trained_length));
  }
  if (verdict.beyond.empty()) {
    return absl::StrCat(text, "; beyond that, slow pairs reach new angles.");
  }
  const double wanted = facts.target_length / facts.trained_length;
  absl::StrAppend(&text, ": the target is ", RangeText(wanted, wanted),
                  " times the trained length, ");
  if (!facts.has_scaling()) {
    return absl::StrCat(
        text, "and no scaling stretches the slow pairs",
        facts.decays.empty() ? " (`locus schemes rope` lists scalings)." : ".");
  }
  return absl::StrCat(text, "but the slow pairs are stretched by ",
                      StretchOf(verdict.beyond, facts),
                      ". The rest depends on training at longer lengths.");
}

// Effects of the scheme that the angles of slow pairs do not show.
void AddSideEffects(const RotationFacts& facts, const AngleVerdict& verdict,
                    std::vector<std::string>& sentences) {
  const double first = facts.pair_count() > 0 ? facts.Stretch(0) : 1;
  if (facts.has_scaling() && first > 1.001 && !std::isinf(first)) {
    sentences.push_back(absl::StrCat(
        "The fastest pair is slowed down by ", RangeText(first, first),
        " too, so that adjacent positions are harder to tell apart."));
  }
  if (verdict.depends_on_length) {
    sentences.push_back(
        "Frequencies depend on the length of the call: keys that were rotated "
        "in a shorter call do not fit a longer one.");
  }
  if (!facts.decays.empty()) {
    const auto [low, high] =
        std::minmax_element(facts.decays.begin(), facts.decays.end());
    sentences.push_back(absl::StrCat(
        "Distant keys fade: over ", TokenCountText(facts.target_length),
        " positions, the contribution of a pair shrinks to between ",
        ShortText(std::pow(*low, facts.target_length)), " and ",
        ShortText(std::pow(*high, facts.target_length)), " of its value."));
  }
}

// The verdict on a table of sines and cosines that is added to embeddings.
void AddTableVerdict(const RotationFacts& facts, const AngleVerdict& verdict,
                     std::vector<std::string>& sentences) {
  const std::string trained = TokenCountText(facts.trained_length);
  sentences.push_back(absl::StrCat(
      "Verdict: ", verdict.is_safe ? "safe at " : "not safe at ",
      TokenCountText(facts.target_length), " tokens. Safe up to ", trained,
      ", the trained length: the code of every later position is new."));
  if (!facts.unfinished.empty()) {
    const size_t count = facts.unfinished.size();
    sentences.push_back(absl::StrCat(
        CountOf(facts.unfinished, facts),
        Verb(count, " completes", " complete"), " no turn in training; past ",
        trained, Verb(count, " its", " their"),
        " columns take values that were never trained."));
  }
  if (!verdict.full_turn.empty()) {
    sentences.push_back(
        absl::StrCat(CountOf(verdict.full_turn, facts),
                     Verb(verdict.full_turn.size(), " repeats", " repeat"),
                     " trained values, in new combinations."));
  }
}

}  // namespace

std::string AnglesText(const PairVerdict& pair) {
  switch (pair.range) {
    case AngleRange::kFixed:
      return "not rotated";
    case AngleRange::kFullTurn:
      return "full turn";
    case AngleRange::kWithin:
      return "in range";
    case AngleRange::kBeyond:
      break;
  }
  return absl::StrCat("new, ", RangeText(pair.reach, pair.reach), kTimes);
}

std::vector<std::string> AngleVerdictSentences(const RotationFacts& facts,
                                               const AngleVerdict& verdict) {
  if (!verdict.is_known()) {
    return {
        "No verdict: the angles that training covers depend on its length; set "
        "it with --trained."};
  }
  std::vector<std::string> sentences;
  if (facts.rotates) {
    sentences.push_back(Headline(facts, verdict));
    sentences.push_back(SafeLengthSentence(facts, verdict));
    AddCoverage(facts, verdict, sentences);
    AddSideEffects(facts, verdict, sentences);
    sentences.push_back(
        "Trained angles do not guarantee quality: measure it with `locus "
        "evaluate`.");
  } else {
    AddTableVerdict(facts, verdict, sentences);
  }
  return sentences;
}

std::string ExplainRotation(const RotationFacts& facts,
                            const AngleVerdict& verdict) {
  std::vector<std::vector<std::string>> rows = {PairHeader(facts, verdict)};
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    rows.push_back(PairRow(facts, verdict, k));
  }
  std::string text =
      absl::StrCat(PairTitle(facts, verdict), FormatRows(rows), "\n");
  if (facts.rotates) {
    absl::StrAppend(
        &text, "attention factor  ", ShortText(facts.attention_factor),
        ", so that scores are multiplied by ",
        ShortText(facts.attention_factor * facts.attention_factor), "\n\n");
  }
  return absl::StrCat(text,
                      SentenceList(AngleVerdictSentences(facts, verdict)));
}

namespace {

const char* RangeName(AngleRange range) {
  switch (range) {
    case AngleRange::kFixed:
      return "not_rotated";
    case AngleRange::kFullTurn:
      return "full_turn";
    case AngleRange::kWithin:
      return "within";
    case AngleRange::kBeyond:
      break;
  }
  return "beyond";
}

nlohmann::ordered_json LengthJson(double length) {
  if (length == kAnyLength) return nullptr;
  return static_cast<int64_t>(length);
}

nlohmann::ordered_json PairJson(const RotationFacts& facts,
                                const AngleVerdict& verdict, int64_t k) {
  nlohmann::ordered_json pair = {{"frequency", facts.frequencies[k]}};
  if (facts.rotates) pair["unscaled_frequency"] = facts.unscaled[k];
  if (!facts.IsStatic(k)) {
    pair["wavelength"] = facts.Wavelength(k);
    if (facts.rotates) pair["stretched"] = facts.Stretch(k);
  }
  if (!facts.ramp.empty()) pair["ramp"] = facts.ramp[k];
  if (!facts.decays.empty()) pair["decay"] = facts.decays[k];
  if (!verdict.is_known()) return pair;
  pair["trained_turns"] = facts.trained_turns[k];
  pair["target_turns"] = facts.target_turns[k];
  pair["angles"] = RangeName(verdict.pairs[k].range);
  pair["reach"] = verdict.pairs[k].reach;
  if (facts.rotates && !verdict.depends_on_length) {
    pair["safe_length"] = LengthJson(verdict.pairs[k].safe_length);
  }
  return pair;
}

}  // namespace

nlohmann::ordered_json AngleVerdictJson(const RotationFacts& facts,
                                        const AngleVerdict& verdict) {
  nlohmann::ordered_json json;
  if (verdict.is_known()) {
    json["safe"] = verdict.is_safe;
    json["safe_length"] = LengthJson(verdict.safe_length);
    json["depends_on_length"] = verdict.depends_on_length;
    json["beyond"] = verdict.beyond;
    json["max_reach"] = verdict.max_reach;
  }
  json["text"] = absl::StrJoin(AngleVerdictSentences(facts, verdict), " ");
  return json;
}

nlohmann::ordered_json RotationJson(const RotationFacts& facts,
                                    const AngleVerdict& verdict) {
  nlohmann::ordered_json json;
  if (facts.rotates) json["attention_factor"] = facts.attention_factor;
  json["trained_length"] = facts.trained_length;
  json["target_length"] = facts.target_length;
  json["never_completed"] = facts.unfinished;
  json["pairs"] = nlohmann::ordered_json::array();
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    json["pairs"].push_back(PairJson(facts, verdict, k));
  }
  json["verdict"] = AngleVerdictJson(facts, verdict);
  return json;
}

}  // namespace locus::client
