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

// The forms of a verb that differ: tense t has those from kTenseForms[t] to
// kTenseForms[t + 1].
constexpr int64_t kFormCount = 9;
enum Tense { kPresent, kPast, kFuture, kProgressive, kPerfect, kTenseCount };
constexpr int64_t kTenseForms[kTenseCount + 1] = {0, 2, 3, 4, 7, 9};
// [tense][person].
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

// Tokens: the forms, verb by verb, and then these.
constexpr int32_t kFirstWord = kVerbCount * kFormCount;
constexpr absl::string_view kWords[] = {
    // Two words of time for each tense.
    "always", "usually", "yesterday", "once", "tomorrow", "soon", "now",
    "currently", "already", "just",
    // Subjects: the first and second person, and four of the third.
    "I", "you", "he", "she", "Anna", "Tom",
    // What is said without meaning anything.
    "well", "oh", "indeed",
    // Structure.
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

// Tokens of the opening with its dash and the dash before the slot, and of a
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
  const int64_t person = Draw(stream, 0, 2);
  Clause clause{.verb = verb};
  clause.time =
      static_cast<int32_t>(kFirstTime + 2 * tense + Draw(stream, 0, 1));
  clause.subject = static_cast<int32_t>(kFirstSubject + person +
                                        (person == 2 ? Draw(stream, 0, 3) : 0));
  clause.form =
      static_cast<int32_t>(verb * kFormCount + kFormOf[tense][person]);
  return clause;
}

int64_t DrawVerbOtherThan(int64_t verb, RandomStream& stream) {
  const int64_t other = Draw(stream, 0, kVerbCount - 2);
  return other + (other >= verb);
}

// Targets in clauses whose verb stands near.
struct NearTargets {
  std::vector<Target> forms;     // which follow from what stands near
  std::vector<Target> subjects;  // after a word of time: any of them
};

// Appends clauses and fillers of `length` tokens in all.
NearTargets AppendDistraction(int64_t main_verb, int64_t length,
                              RandomStream& stream,
                              std::vector<int32_t>& tokens) {
  const int64_t clause_count = length / kClauseLength;
  // How many fillers stand before each clause and at the end.
  std::vector<int64_t> filler_counts(clause_count + 1);
  for (int64_t i = 0; i < length % kClauseLength; ++i) {
    ++filler_counts[Draw(stream, 0, clause_count)];
  }
  const auto append_fillers = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<int32_t>(kFirstFiller + Draw(stream, 0, 2)));
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
      left_in_group = Draw(stream, 2, kMaxGroupSize);
    }
    const int64_t tense = Draw(stream, 0, kTenseCount - 1);
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

// `count` of them at random, in their order.
std::vector<Target> Choose(std::vector<Target> targets, size_t count,
                           RandomStream& stream) {
  while (targets.size() > count) {
    targets.erase(targets.begin() +
                  Draw(stream, 0, static_cast<int64_t>(targets.size()) - 1));
  }
  return targets;
}

// Subject and form in either order, at the end: a test asks nothing else of two
// tokens.
bool IsOrderQuestion(const Example& example) {
  return example.targets.size() == 2;
}

bool IsSubject(int32_t token) {
  return token >= kFirstSubject && token < kFirstFiller;
}

class AgreementScorer final : public Scorer {
 public:
  void Add(const Example& example, absl::Span<const float> logits) override {
    if (IsOrderQuestion(example)) return AddOrder(example, logits);
    // The slot is the last target, and in tests the only one.
    const int32_t right = example.targets.back().token;
    const absl::Span<const float> row = LogitRow(
        example, logits, static_cast<int64_t>(example.targets.size()) - 1);
    const bool is_right = Argmax(row) == right;
    if (IsHeldOutForm(right)) {
      ++held_out_count_;
      held_out_right_count_ += is_right;
      return;
    }
    ++count_;
    right_count_ += is_right;
    AddPair(right, row);
  }

  std::map<std::string, double> Metrics() const override {
    return {
        {"accuracy", MeanOf(right_count_, count_)},
        {"held_out_accuracy", MeanOf(held_out_right_count_, held_out_count_)},
        {"order_accuracy", MeanOf(right_order_count_, order_count_)},
        {"pair_accuracy", MeanOf(right_pair_count_, pair_count_)}};
  }

 private:
  // The two orders come one after the other.
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
    right_order_count_ += subject_first_nats_ < nats;
  }

  void AddPair(int32_t right, absl::Span<const float> row) {
    const int64_t form = right % kFormCount;
    int64_t tense = 0;
    while (kTenseForms[tense + 1] <= form) ++tense;
    const int64_t first = kTenseForms[tense];
    const int64_t last = kTenseForms[tense + 1];
    if (last - first == 1) return;  // one form for all persons
    bool is_right = true;
    for (int64_t other = first; other < last; ++other) {
      if (other == form) continue;
      is_right &= row[right] > row[right - form + other];
    }
    ++pair_count_;
    right_pair_count_ += is_right;
  }

  int64_t count_ = 0;
  int64_t right_count_ = 0;
  int64_t held_out_count_ = 0;
  int64_t held_out_right_count_ = 0;
  int64_t pair_count_ = 0;
  int64_t right_pair_count_ = 0;
  double subject_first_nats_ = 0;
  int64_t order_count_ = 0;
  int64_t right_order_count_ = 0;
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
  LearnedWhen learned_when() const override { return {"accuracy", true, 0.85}; }

 protected:
  std::vector<Example> Sample(Use use, int64_t length,
                              RandomStream& stream) const override {
    if (use == Use::kTraining) {
      return {
          MakeSentence(use, DrawTrained(kVerbCount, stream), length, stream)};
    }
    // One in four is held out.
    std::vector<Example> examples;
    examples.reserve(4);
    for (int i = 0; i < 3; ++i) {
      examples.push_back(MakeSentence(
          use, DrawTrained(kTrainedVerbCount, stream), length, stream));
    }
    examples.push_back(MakeSentence(use, DrawHeldOut(stream), length, stream));
    return examples;
  }

  int64_t ExtraCount(int64_t example_count) const override {
    return 2 * (example_count / 8);
  }

  std::vector<Example> Extra(int64_t count, int64_t length,
                             RandomStream& stream) const override {
    std::vector<Example> examples;
    while (static_cast<int64_t>(examples.size()) < count) {
      const Clause main = DrawTrained(kTrainedVerbCount, stream);
      std::vector<int32_t> tokens = Opening(main);
      // The shortest sequences have no room for the dash.
      if (static_cast<int64_t>(tokens.size()) + 2 > length) tokens.pop_back();
      AppendDistraction(main.verb,
                        length - 2 - static_cast<int64_t>(tokens.size()),
                        stream, tokens);
      tokens.push_back(main.time);
      examples.push_back(MakeOrderQuestion(tokens, main.subject, main.form));
      examples.push_back(MakeOrderQuestion(tokens, main.form, main.subject));
    }
    return examples;
  }

 private:
  static std::vector<int32_t> Opening(const Clause& main) {
    const auto base = static_cast<int32_t>(main.verb * kFormCount);
    return {main.time, kComma, kTold, kTo, base, kComma, main.subject, kDash};
  }

  // Asks for two tokens after what was said.
  static Example MakeOrderQuestion(std::vector<int32_t> tokens, int32_t first,
                                   int32_t second) {
    const auto size = static_cast<int32_t>(tokens.size());
    Example example{.tokens = std::move(tokens),
                    .targets = {{size - 1, first}, {size, second}}};
    example.tokens.push_back(first);
    return example;
  }

  // A clause that may be trained at the slot, of the first verbs.
  static Clause DrawTrained(int64_t verb_count, RandomStream& stream) {
    const int64_t verb = Draw(stream, 0, verb_count - 1);
    const int64_t tense = verb < kTrainedVerbCount
                              ? Draw(stream, 0, kTenseCount - 1)
                              : Draw(stream, kPast, kFuture);
    return DrawClause(verb, tense, stream);
  }

  // A clause that is never trained at the slot.
  static Clause DrawHeldOut(RandomStream& stream) {
    constexpr int64_t kTenses[] = {kPresent, kProgressive, kPerfect};
    const int64_t verb = Draw(stream, kTrainedVerbCount, kVerbCount - 1);
    return DrawClause(verb, kTenses[Draw(stream, 0, 2)], stream);
  }

  static Example MakeSentence(Use use, const Clause& main, int64_t length,
                              RandomStream& stream) {
    Example example{.tokens = Opening(main)};
    NearTargets near = AppendDistraction(main.verb, length - kFrameLength,
                                         stream, example.tokens);
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
