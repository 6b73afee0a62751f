#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/printable.h"
#include "client/cli/render/column_blocks.h"
#include "client/cli/render/comparison.h"
#include "client/cli/render/number_text.h"
#include "client/cli/render/table.h"

namespace locus::client {
namespace {

constexpr char kMultiply[] = "\xc3\x97";  // U+00D7 MULTIPLICATION SIGN

// Rows that a table shows without --all, and the length from which on it hides
// rows.
constexpr int64_t kShownRows = 12;
constexpr int64_t kMaxUnfoldedRows = 16;

// A scheme with its heading in tables: its name, or a letter if a name is too
// long for a column.
struct Heading {
  std::string text;
  const ComparedScheme* scheme;
};

bool HasLongName(const Comparison& comparison) {
  constexpr size_t kMaxName = 18;
  return std::any_of(comparison.schemes.begin(), comparison.schemes.end(),
                     [](const ComparedScheme& scheme) {
                       return CharacterCount(PrintableLine(scheme.name)) >
                              kMaxName;
                     });
}

std::vector<Heading> HeadingsOf(const Comparison& comparison) {
  const bool use_letters = HasLongName(comparison);
  std::vector<Heading> headings;
  for (const ComparedScheme& scheme : comparison.schemes) {
    const char letter = static_cast<char>('A' + headings.size());
    headings.push_back(
        {use_letters ? std::string(1, letter) : scheme.name, &scheme});
  }
  return headings;
}

// "A  rope base=500000 yarn×4 of ...", one line per scheme with a long name.
std::string Legend(const std::vector<Heading>& headings,
                   const Comparison& comparison) {
  if (!HasLongName(comparison)) return "";
  std::string text;
  for (const Heading& heading : headings) {
    absl::StrAppend(&text,
                    Paragraph(absl::StrCat(heading.text, " ",
                                           PrintableLine(heading.scheme->name)),
                              2));
  }
  return text + "\n";
}

// The verdict at the target length in a few words.
std::string TargetCell(const ComparedScheme& scheme, double target_length) {
  if (scheme.pairs && scheme.angles.is_known()) {
    if (scheme.angles.is_safe) return "safe";
    if (scheme.angles.beyond.empty()) return "new codes";
    return absl::StrCat(scheme.angles.beyond.size(), " of ",
                        scheme.pairs->pair_count(), " pairs to ",
                        ShortText(scheme.angles.max_reach), kMultiply);
  }
  if (scheme.bias && scheme.bias_verdict.is_known()) {
    const BiasVerdict& verdict = scheme.bias_verdict;
    if (verdict.within.size() == verdict.heads.size()) return "biases in range";
    return absl::StrCat(
        verdict.below.size(), " of ", verdict.heads.size(), " heads lower",
        verdict.above.empty()
            ? ""
            : absl::StrCat(", ", verdict.above.size(), " higher"));
  }
  if (scheme.table) {
    const auto safe = static_cast<double>(scheme.table->SafeLength());
    return target_length <= safe ? "safe" : scheme.table->policy;
  }
  return scheme.pairs || scheme.bias ? "-" : "no positions";
}

std::string SafeCell(const ComparedScheme& scheme) {
  if (scheme.pairs && scheme.angles.is_known()) {
    return scheme.angles.safe_length == kAnyLength
               ? "any length"
               : TokenCountText(scheme.angles.safe_length);
  }
  return scheme.table ? absl::StrCat(scheme.table->SafeLength()) : "-";
}

std::string TrainedCell(const ComparedScheme& scheme) {
  const double trained = scheme.pairs   ? scheme.pairs->trained_length
                         : scheme.bias  ? scheme.bias_verdict.trained_length
                         : scheme.table ? scheme.table->trained_length
                                        : 0;
  return trained > 0 ? TokenCountText(trained) : "-";
}

std::string ScoreCell(const ComparedScheme& scheme) {
  if (!scheme.pairs || !scheme.pairs->rotates) return "-";
  const double factor = scheme.pairs->attention_factor;
  return absl::StrCat(kMultiply, ShortText(factor * factor));
}

// One row per scheme: width, lengths, verdict and score multiplier, as far as
// any scheme has them.
std::string SummaryTable(const std::vector<Heading>& headings,
                         const Comparison& comparison, int width) {
  const double target = comparison.target_length;
  std::vector<ColumnGroup> columns;
  const auto add = [&](const std::string& text, const auto& cell) {
    TableColumn column = {text};
    for (const Heading& heading : headings) {
      column.push_back(cell(*heading.scheme));
    }
    const bool is_empty = std::all_of(column.begin() + 1, column.end(),
                                      [](const auto& c) { return c == "-"; });
    if (!is_empty) columns.push_back({std::move(column)});
  };
  add("DIM", [](const ComparedScheme& scheme) {
    return scheme.dim > 0 ? absl::StrCat(scheme.dim) : "-";
  });
  if (target > 0) {
    add("TRAINED", TrainedCell);
    add("SAFE UP TO", SafeCell);
    add(absl::StrCat("AT ", TokenCountText(target)),
        [&](const ComparedScheme& scheme) {
          return TargetCell(scheme, target);
        });
  }
  add("SCORES", ScoreCell);
  TableColumn labels = {"SCHEME"};
  for (const Heading& heading : headings) labels.push_back(heading.text);
  std::string text = FormatColumnBlocks(labels, columns, width);
  for (const Heading& heading : headings) {
    if (heading.scheme->size_note.empty()) continue;
    absl::StrAppend(&text, Paragraph(absl::StrCat(
                               PrintableLine(heading.text), " ",
                               PrintableLine(heading.scheme->size_note))));
  }
  if (!comparison.layout_note.empty()) {
    absl::StrAppend(&text, Paragraph(PrintableLine(comparison.layout_note)));
  }
  return text;
}

// The rows of a table of pairs or heads: all of them, or a few.
std::vector<int64_t> ShownRows(int64_t count,
                               const ComparisonTextOptions& options) {
  return SpacedIndices(count, options.all || count <= kMaxUnfoldedRows
                                  ? std::max<int64_t>(count, 2)
                                  : kShownRows);
}

template <typename Cell>
TableColumn ColumnOf(const std::string& heading,
                     const std::vector<int64_t>& rows, const Cell& cell) {
  TableColumn column = {heading};
  for (const int64_t row : rows) column.push_back(cell(row));
  return column;
}

// The schemes that have wavelengths.
std::vector<Heading> WithPairs(const std::vector<Heading>& headings) {
  std::vector<Heading> found;
  for (const Heading& heading : headings) {
    if (heading.scheme->pairs) found.push_back(heading);
  }
  return found;
}

int64_t MaxPairCount(const std::vector<Heading>& headings) {
  int64_t count = 0;
  for (const Heading& heading : headings) {
    count = std::max(count, heading.scheme->pairs->pair_count());
  }
  return count;
}

std::string WavelengthTable(const std::vector<Heading>& headings,
                            const std::vector<int64_t>& rows, int width) {
  const RotationFacts& first = *headings.front().scheme->pairs;
  std::vector<ColumnGroup> groups;
  for (const Heading& heading : headings) {
    const RotationFacts& facts = *heading.scheme->pairs;
    groups.push_back({ColumnOf(heading.text, rows, [&](int64_t k) {
      return k < facts.pair_count() ? ShortText(facts.Wavelength(k)) : "";
    })});
    const std::vector<double> ratios = WavelengthRatios(first, facts);
    if (&facts == &first || ratios.empty()) continue;
    groups.back().push_back(ColumnOf("RATIO", rows, [&](int64_t k) {
      return std::isnan(ratios[k]) ? "-" : ShortText(ratios[k]);
    }));
  }
  return FormatColumnBlocks(
      ColumnOf("PAIR", rows, [](int64_t k) { return absl::StrCat(k); }), groups,
      width);
}

std::string TurnsTable(const std::vector<Heading>& headings,
                       const std::vector<int64_t>& rows, double target_length,
                       int width) {
  std::vector<ColumnGroup> groups;
  for (const Heading& heading : headings) {
    const ComparedScheme& scheme = *heading.scheme;
    if (!scheme.angles.is_known()) continue;
    const auto column = [&](const std::string& text, const auto& cell) {
      return ColumnOf(text, rows, [&](int64_t k) -> std::string {
        return k < scheme.pairs->pair_count() ? cell(k) : "";
      });
    };
    groups.push_back({column(heading.text,
                             [&](int64_t k) {
                               return ShortText(scheme.pairs->trained_turns[k]);
                             }),
                      column(absl::StrCat("IN ", TokenCountText(target_length)),
                             [&](int64_t k) {
                               return ShortText(scheme.pairs->target_turns[k]);
                             }),
                      column("ANGLES", [&](int64_t k) {
                        return AnglesText(scheme.angles.pairs[k]);
                      })});
  }
  if (groups.empty()) return "";
  return FormatColumnBlocks(
      ColumnOf("PAIR", rows, [](int64_t k) { return absl::StrCat(k); }), groups,
      width);
}

// Wavelengths with ratios, and turns at both lengths.
std::string PairSection(const std::vector<Heading>& headings,
                        const Comparison& comparison,
                        const ComparisonTextOptions& options) {
  const std::vector<Heading> shown = WithPairs(headings);
  if (shown.size() < 2) return "";
  const int64_t count = MaxPairCount(shown);
  const std::vector<int64_t> rows = ShownRows(count, options);
  std::string text = absl::StrCat(
      "\n",
      Paragraph(absl::StrCat(
          "Wavelength of each pair in positions, and its ratio to ",
          PrintableLine(shown.front().text), ":")),
      WavelengthTable(shown, rows, options.width));
  const std::string turns =
      TurnsTable(shown, rows, comparison.target_length, options.width);
  if (!turns.empty()) {
    absl::StrAppend(&text, "\n",
                    Paragraph(absl::StrCat(
                        "Turns of each pair in the trained length and "
                        "in ",
                        TokenCountText(comparison.target_length), " tokens:")),
                    turns);
  } else {
    absl::StrAppend(&text, "\n",
                    "Set --trained to compare the turns in training.\n");
  }
  const auto hidden = count - static_cast<int64_t>(rows.size());
  if (hidden > 0) {
    absl::StrAppend(&text, rows.size(), " of ", count,
                    " pairs; --all shows all\n");
  }
  return text;
}

// The bias of one head by distance, with the difference to the first scheme.
std::string BiasTable(const std::vector<Heading>& headings, int64_t head,
                      int width) {
  const BiasByDistance& first = *headings.front().scheme->bias;
  const std::vector<int64_t> distances = first.Distances();
  std::vector<ColumnGroup> groups;
  for (const Heading& heading : headings) {
    const BiasByDistance& bias = *heading.scheme->bias;
    if (head >= static_cast<int64_t>(bias.heads.size())) continue;
    groups.push_back({ColumnOf(heading.text, distances, [&](int64_t n) {
      return n < bias.length() ? ShortText(bias.heads[head][n]) : "";
    })});
    if (&bias == &first) continue;
    groups.back().push_back(
        ColumnOf("DIFFERENCE", distances, [&](int64_t n) -> std::string {
          return n < bias.length()
                     ? ShortText(bias.heads[head][n] - first.heads[head][n])
                     : "";
        }));
  }
  return FormatColumnBlocks(ColumnOf("DISTANCE", distances,
                                     [](int64_t n) { return absl::StrCat(n); }),
                            groups, width);
}

std::string BiasSection(const std::vector<Heading>& headings,
                        const ComparisonTextOptions& options) {
  std::vector<Heading> shown;
  for (const Heading& heading : headings) {
    if (heading.scheme->bias) shown.push_back(heading);
  }
  if (shown.size() < 2) return "";
  const auto count =
      static_cast<int64_t>(shown.front().scheme->bias->heads.size());
  const std::vector<int64_t> heads =
      SpacedIndices(count, options.all ? std::max<int64_t>(count, 2) : 2);
  std::string text;
  for (const int64_t head : heads) {
    absl::StrAppend(
        &text, "\n",
        Paragraph(absl::StrCat("Bias of head ", head,
                               " by distance, and its difference to ",
                               PrintableLine(shown.front().text), ":")),
        BiasTable(shown, head, options.width));
  }
  if (static_cast<int64_t>(heads.size()) < count) {
    absl::StrAppend(&text, heads.size(), " of ", count,
                    " heads; --all shows all\n");
  }
  return text;
}

// A sentence about schemes whose numbers cannot be put side by side.
std::string MixedKindsNote(const Comparison& comparison) {
  const auto count = [&](auto has) {
    return std::count_if(comparison.schemes.begin(), comparison.schemes.end(),
                         has);
  };
  const auto total = static_cast<int64_t>(comparison.schemes.size());
  const int64_t pairs =
      count([](const ComparedScheme& s) { return s.pairs.has_value(); });
  const int64_t biases =
      count([](const ComparedScheme& s) { return s.bias.has_value(); });
  if (pairs == total || biases == total) return "";
  return "\n" + Paragraph(
                    "The schemes act at different sites, so that only their "
                    "effect on attention compares all of them. `locus explain` "
                    "shows the numbers of each.");
}

std::string AttentionSection(const std::vector<Heading>& headings,
                             const Comparison& comparison) {
  if (!comparison.attention_note.empty()) {
    return "\n" + Paragraph(absl::StrCat("Attention is not compared: ",
                                         comparison.attention_note));
  }
  const AttentionWeights& first = *comparison.schemes.front().attention;
  const std::string sentence = absl::StrJoin(comparison.words, " ");
  std::string text = absl::StrCat(
      "\n",
      Paragraph(absl::StrCat(
          "Attention on \"", PrintableLine(sentence), "\" (untrained layer, ",
          first.head_count, first.head_count == 1 ? " head" : " heads", ", ",
          !comparison.causal ? "both directions"
          : comparison.causal_kind.empty()
              ? "causal"
              : absl::StrCat("causal because of ", comparison.causal_kind),
          ", seed ", comparison.seed, "), largest difference to ",
          PrintableLine(headings.front().text), ":")));
  for (size_t i = 1; i < headings.size(); ++i) {
    const AttentionDifference found =
        CompareAttention(first, *headings[i].scheme->attention);
    std::string line = absl::StrCat(PrintableLine(headings[i].text), ": ");
    if (found.largest == 0) {
      absl::StrAppend(&line, "none, the weights are equal.");
    } else {
      absl::StrAppend(
          &line, ShortText(found.largest), ", where \"",
          PrintableLine(comparison.words[found.query]), "\" (word ",
          found.query + 1, ") attends to \"",
          PrintableLine(comparison.words[found.key]), "\" (word ",
          found.key + 1, ")",
          first.head_count > 1 ? absl::StrCat(" in head ", found.head) : "",
          " with ", ShortText(found.other), " instead of ",
          ShortText(found.first), "; mean ", ShortText(found.mean), ".");
    }
    absl::StrAppend(&text, Paragraph("- " + line, 2));
  }
  return text;
}

}  // namespace

std::string ComparisonText(const Comparison& comparison,
                           const ComparisonTextOptions& options) {
  const std::vector<Heading> headings = HeadingsOf(comparison);
  return absl::StrCat(Legend(headings, comparison),
                      SummaryTable(headings, comparison, options.width),
                      PairSection(headings, comparison, options),
                      BiasSection(headings, options),
                      MixedKindsNote(comparison),
                      AttentionSection(headings, comparison));
}

}  // namespace locus::client
