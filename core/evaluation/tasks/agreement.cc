#include "core/evaluation/tasks/agreement.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/random.h"
#include "core/evaluation/tasks/examples.h"

namespace locus {
namespace {

struct Verb {
  absl::string_view base, third, past, participle, gerund;
};

// The last five are held out.
constexpr Verb kVerbs[] = {
    {"work", "works", "worked", "worked", "working"},
    {"walk", "walks", "walked", "walked", "walking"},
    {"call", "calls", "called", "called", "calling"},
    {"help", "helps", "helped", "helped", "helping"},
    {"play", "plays", "played", "played", "playing"},
    {"listen", "listens", "listened", "listened", "listening"},
    {"jump", "jumps", "jumped", "jumped", "jumping"},
    {"cry", "cries", "cried", "cried", "crying"},
    {"sing", "sings", "sang", "sung", "singing"},
    {"write", "writes", "wrote", "written", "writing"},
    {"go", "goes", "went", "gone", "going"},
    {"eat", "eats", "ate", "eaten", "eating"},
    {"speak", "speaks", "spoke", "spoken", "speaking"},
    {"swim", "swims", "swam", "swum", "swimming"},
    {"sleep", "sleeps", "slept", "slept", "sleeping"},
    {"wait", "waits", "waited", "waited", "waiting"},
    {"dance", "dances", "danced", "danced", "dancing"},
    {"study", "studies", "studied", "studied", "studying"},
    {"drive", "drives", "drove", "driven", "driving"},
    {"fall", "falls", "fell", "fallen", "falling"},
};
constexpr int64_t kVerbCount = 20;
constexpr int64_t kTrainedVerbCount = 15;
static_assert(std::size(kVerbs) == kVerbCount);

// A verb has nine distinct forms. Tense t has the forms from kTenseForms[t] to
// kTenseForms[t + 1] - 1.
constexpr int64_t kFormCount = 9;
enum Tense { kPresent, kPast, kFuture, kProgressive, kPerfect, kTenseCount };
constexpr int64_t kTenseForms[kTenseCount + 1] = {0, 2, 3, 4, 7, 9};
// Form by tense and person.
constexpr int64_t kFormOf[kTenseCount][3] = {
    {0, 0, 1}, {2, 2, 2}, {3, 3, 3}, {4, 5, 6}, {7, 7, 8}};

std::string FormText(const Verb& verb, int64_t form) {
  switch (form) {
    case 0:
      return std::string(verb.base);
    case 1:
      return std::string(verb.third);
    case 2:
      return std::string(verb.past);
    case 3:
      return absl::StrCat("will ", verb.base);
    case 4:
      return absl::StrCat("am ", verb.gerund);
    case 5:
      return absl::StrCat("are ", verb.gerund);
    case 6:
      return absl::StrCat("is ", verb.gerund);
    case 7:
      return absl::StrCat("have ", verb.participle);
    default:
      return absl::StrCat("has ", verb.participle);
  }
}

// The vocabulary consists of the forms, verb by verb, followed by these words.
constexpr int32_t kFirstWord = kVerbCount * kFormCount;
constexpr absl::string_view kWords[] = {
    // Two time adverbs for each tense.
    "always", "usually", "yesterday", "once", "tomorrow", "soon", "now",
    "currently", "already", "just",
    // Subjects: first person, second person, and four of the third person.
    "I", "you", "he", "she", "Anna", "Tom",
    // Fillers.
    "well", "oh", "indeed",
    // Punctuation and structure.
    ",", ";", "-", "told", "to"};
constexpr int32_t kFirstTime = kFirstWord;
constexpr int32_t kFirstSubject = kFirstTime + 2 * kTenseCount;
constexpr int32_t kFirstFiller = kFirstSubject + 6;
constexpr int32_t kComma = kFirstFiller + 3;
constexpr int32_t kSemicolon = kComma + 1;
constexpr int32_t kDash = kComma + 2;
constexpr int32_t kTold = kComma + 3;
constexpr int32_t kTo = kComma + 4;
constexpr int32_t kVocabularySize = kTo + 1;
static_assert(std::size(kWords) == kVocabularySize - kFirstWord);

// Number of tokens of the opening with its dash and the final dash, and of a
// clause with its comma.
constexpr int64_t kFrameLength = 9;
constexpr int64_t kClauseLength = 4;
constexpr int64_t kMaxGroupSize = 4;
constexpr size_t kMaxNearTargets = 3;

// A verb in a tense with a subject.
struct Clause {
  int64_t verb = 0;
  int32_t time = 0;
  int32_t subject = 0;
  int32_t form = 0;
};

Clause DrawClause(int64_t verb, int64_t tense, RandomStream& stream) {
  const int64_t person = DrawInteger(stream, 0, 2);
  Clause clause{.verb = verb};
  clause.time =
      static_cast<int32_t>(kFirstTime + 2 * tense + DrawInteger(stream, 0, 1));
  clause.subject = static_cast<int32_t>(
      kFirstSubject + person + (person == 2 ? DrawInteger(stream, 0, 3) : 0));
  clause.form =
      static_cast<int32_t>(verb * kFormCount + kFormOf[tense][person]);
  return clause;
}

int64_t DrawVerbOtherThan(int64_t verb, RandomStream& stream) {
  const int64_t other = DrawInteger(stream, 0, kVerbCount - 2);
  return other + (other >= verb);
}

// Targets within the distracting clauses.
struct NearTargets {
  std::vector<Target> forms;     // forms that follow from nearby words
  std::vector<Target> subjects;  // subjects after a time adverb
};

// Appends clauses and fillers with a total of `length` tokens.
NearTargets AppendDistractingClauses(int64_t main_verb, int64_t length,
                                     RandomStream& stream,
                                     std::vector<int32_t>& tokens) {
  const int64_t clause_count = length / kClauseLength;
  // Number of fillers before each clause and at the end.
  std::vector<int64_t> filler_counts(clause_count + 1);
  for (int64_t i = 0; i < length % kClauseLength; ++i) {
    ++filler_counts[DrawInteger(stream, 0, clause_count)];
  }
  const auto append_fillers = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      tokens.push_back(
          static_cast<int32_t>(kFirstFiller + DrawInteger(stream, 0, 2)));
    }
  };

  NearTargets targets;
  int64_t verb = main_verb;
  int64_t left_in_group = 0;
  for (int64_t i = 0; i < clause_count; ++i) {
    append_fillers(filler_counts[i]);
    const bool is_first = left_in_group == 0;
    if (is_first) {
      const int64_t previous = verb;
      while (verb == previous) verb = DrawVerbOtherThan(main_verb, stream);
      left_in_group = DrawInteger(stream, 2, kMaxGroupSize);
    }
    const int64_t tense = DrawInteger(stream, 0, kTenseCount - 1);
    const Clause clause = DrawClause(verb, tense, stream);
    tokens.push_back(clause.time);
    if (!is_first) {
      const auto subject_index = static_cast<int32_t>(tokens.size());
      targets.subjects.push_back({subject_index - 1, clause.subject});
      targets.forms.push_back({subject_index, clause.form});
    }
    tokens.push_back(clause.subject);
    tokens.push_back(clause.form);
    --left_in_group;
    tokens.push_back(left_in_group == 0 ? kSemicolon : kComma);
  }
  append_fillers(filler_counts[clause_count]);
  return targets;
}

// Returns `count` random targets, in their original order.
std::vector<Target> Choose(std::vector<Target> targets, size_t count,
                           RandomStream& stream) {
  while (targets.size() > count) {
    targets.erase(
        targets.begin() +
        DrawInteger(stream, 0, static_cast<int64_t>(targets.size()) - 1));
  }
  return targets;
}

// Returns true for the examples of order_accuracy, which are the only ones in a
// test with two targets.
bool IsOrderExample(const Example& example) {
  return example.targets.size() == 2;
}

bool IsSubject(int32_t token) {
  return token >= kFirstSubject && token < kFirstFiller;
}

class AgreementScorer final : public Scorer {
 public:
  void Add(const Example& example, absl::Span<const float> logits) override {
    if (IsOrderExample(example)) return AddOrder(example, logits);
    // The slot is the last target, and the only one in tests.
    const int32_t correct = example.targets.back().token;
    const absl::Span<const float> row = LogitRow(
        example, logits, static_cast<int64_t>(example.targets.size()) - 1);
    const bool is_correct = Argmax(row) == correct;
    if (IsHeldOutForm(correct)) {
      ++held_out_count_;
      held_out_correct_count_ += is_correct;
      return;
    }
    ++count_;
    correct_count_ += is_correct;
    AddPair(correct, row);
  }

  std::map<std::string, double> Metrics() const override {
    return {
        {"accuracy", MeanOf(correct_count_, count_)},
        {"held_out_accuracy", MeanOf(held_out_correct_count_, held_out_count_)},
        {"order_accuracy", MeanOf(correct_order_count_, order_count_)},
        {"pair_accuracy", MeanOf(correct_pair_count_, pair_count_)}};
  }

 private:
  // Adds one of the two orders. The one with the subject first comes first.
  void AddOrder(const Example& example, absl::Span<const float> logits) {
    double nats = 0;
    for (int64_t n = 0; n < 2; ++n) {
      nats += NegativeLogLikelihood(LogitRow(example, logits, n),
                                    example.targets[n].token);
    }
    if (IsSubject(example.targets.front().token)) {
      subject_first_nats_ = nats;
      return;
    }
    ++order_count_;
    correct_order_count_ += subject_first_nats_ < nats;
  }

  void AddPair(int32_t correct, absl::Span<const float> row) {
    const int64_t form = correct % kFormCount;
    int64_t tense = 0;
    while (kTenseForms[tense + 1] <= form) ++tense;
    const int64_t first = kTenseForms[tense];
    const int64_t last = kTenseForms[tense + 1];
    if (last - first == 1) return;  // the form is the same for all persons
    bool is_correct = true;
    for (int64_t other = first; other < last; ++other) {
      if (other == form) continue;
      is_correct &= row[correct] > row[correct - form + other];
    }
    ++pair_count_;
    correct_pair_count_ += is_correct;
  }

  int64_t count_ = 0;
  int64_t correct_count_ = 0;
  int64_t held_out_count_ = 0;
  int64_t held_out_correct_count_ = 0;
  int64_t pair_count_ = 0;
  int64_t correct_pair_count_ = 0;
  double subject_first_nats_ = 0;
  int64_t order_count_ = 0;
  int64_t correct_order_count_ = 0;
};

class AgreementTask final : public SampledTask {
 public:
  AgreementTask() : SampledTask("agreement") {}

  int64_t vocabulary_size() const override { return kVocabularySize; }
  int64_t default_step_count() const override { return 600; }
  int64_t min_length() const override { return kFrameLength; }
  std::unique_ptr<Scorer> MakeScorer(int64_t, int64_t) const override {
    return std::make_unique<AgreementScorer>();
  }
  LearnedCriterion learned_criterion() const override {
    return {.metric = "accuracy",
            .threshold = 0.85,
            .chance = 1.0 / (kVerbCount * kFormCount)};
  }

 protected:
  std::vector<Example> Sample(Use use, int64_t length,
                              RandomStream& stream) const override {
    if (use == Use::kTraining) {
      return {
          MakeSentence(use, DrawTrained(kVerbCount, stream), length, stream)};
    }
    // One in four examples has a held-out verb.
    std::vector<Example> examples;
    examples.reserve(4);
    for (int i = 0; i < 3; ++i) {
      examples.push_back(MakeSentence(
          use, DrawTrained(kTrainedVerbCount, stream), length, stream));
    }
    examples.push_back(MakeSentence(use, DrawHeldOut(stream), length, stream));
    return examples;
  }

  int64_t ExtraExampleCount(int64_t example_count) const override {
    return 2 * (example_count / 8);
  }

  std::vector<Example> ExtraExamples(int64_t count, int64_t length,
                                     RandomStream& stream) const override {
    std::vector<Example> examples;
    while (static_cast<int64_t>(examples.size()) < count) {
      const Clause main = DrawTrained(kTrainedVerbCount, stream);
      std::vector<int32_t> tokens = Opening(main);
      // The shortest sequences have no room for the dash of the opening.
      if (static_cast<int64_t>(tokens.size()) + 2 > length) tokens.pop_back();
      AppendDistractingClauses(main.verb,
                               length - 2 - static_cast<int64_t>(tokens.size()),
                               stream, tokens);
      tokens.push_back(main.time);
      examples.push_back(MakeOrderExample(tokens, main.subject, main.form));
      examples.push_back(MakeOrderExample(tokens, main.form, main.subject));
    }
    return examples;
  }

 private:
  static std::vector<int32_t> Opening(const Clause& main) {
    const auto base = static_cast<int32_t>(main.verb * kFormCount);
    return {main.time, kComma, kTold, kTo, base, kComma, main.subject, kDash};
  }

  // Makes an example with two targets after `tokens`.
  static Example MakeOrderExample(std::vector<int32_t> tokens, int32_t first,
                                  int32_t second) {
    const auto size = static_cast<int32_t>(tokens.size());
    Example example{.tokens = std::move(tokens),
                    .targets = {{size - 1, first}, {size, second}}};
    example.tokens.push_back(first);
    return example;
  }

  // Draws a clause that may be trained at the slot, from the first verb_count
  // verbs.
  static Clause DrawTrained(int64_t verb_count, RandomStream& stream) {
    const int64_t verb = DrawInteger(stream, 0, verb_count - 1);
    const int64_t tense = verb < kTrainedVerbCount
                              ? DrawInteger(stream, 0, kTenseCount - 1)
                              : DrawInteger(stream, kPast, kFuture);
    return DrawClause(verb, tense, stream);
  }

  // Draws a clause that is never trained at the slot.
  static Clause DrawHeldOut(RandomStream& stream) {
    constexpr int64_t kTenses[] = {kPresent, kProgressive, kPerfect};
    const int64_t verb = DrawInteger(stream, kTrainedVerbCount, kVerbCount - 1);
    return DrawClause(verb, kTenses[DrawInteger(stream, 0, 2)], stream);
  }

  static Example MakeSentence(Use use, const Clause& main, int64_t length,
                              RandomStream& stream) {
    Example example{.tokens = Opening(main)};
    NearTargets near = AppendDistractingClauses(
        main.verb, length - kFrameLength, stream, example.tokens);
    if (use == Use::kTraining) {
      example.targets = Choose(std::move(near.forms), kMaxNearTargets, stream);
      for (const Target& target : Choose(std::move(near.subjects), 1, stream)) {
        example.targets.push_back(target);
      }
      std::sort(example.targets.begin(), example.targets.end(),
                [](const auto& a, const auto& b) { return a.index < b.index; });
    }
    example.targets.push_back(
        {static_cast<int32_t>(example.tokens.size()), main.form});
    example.tokens.push_back(kDash);
    return example;
  }
};

}  // namespace

std::unique_ptr<Task> MakeAgreementTask() {
  return std::make_unique<AgreementTask>();
}

std::string AgreementText(absl::Span<const int32_t> tokens) {
  return absl::StrJoin(tokens, " ", [](std::string* out, int32_t token) {
    if (token >= kFirstWord) {
      absl::StrAppend(out, kWords[token - kFirstWord]);
    } else {
      absl::StrAppend(out,
                      FormText(kVerbs[token / kFormCount], token % kFormCount));
    }
  });
}

bool IsHeldOutForm(int32_t token) {
  return token >= kTrainedVerbCount * kFormCount && token < kFirstWord;
}

}  // namespace locus
