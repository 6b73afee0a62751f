#include "core/evaluation/tasks/corpus.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "core/base/random.h"
#include "core/evaluation/tasks/examples.h"

namespace locus {
namespace {

constexpr size_t kCorpusBytes = 320 << 10;

using Words = absl::Span<const absl::string_view>;

// Adjectives begin with consonants, so that the article is always "a".
constexpr absl::string_view kAdjectives[] = {
    "red",    "blue",   "green", "little",  "big",     "round",     "silver",
    "golden", "wooden", "shiny", "broken",  "dusty",   "warm",      "cold",
    "heavy",  "light",  "quiet", "strange", "pretty",  "crooked",   "tiny",
    "soft",   "bright", "dark",  "smooth",  "painted", "forgotten", "secret"};
constexpr absl::string_view kThings[] = {
    "key",    "lamp",   "book",    "drum",    "bell",   "stone", "ring",
    "basket", "map",    "flute",   "mirror",  "coin",   "cup",   "button",
    "ladder", "candle", "rope",    "feather", "bottle", "clock", "shell",
    "spoon",  "kite",   "blanket", "hammer",  "letter", "pearl", "whistle"};
constexpr absl::string_view kPeople[] = {
    "miller",    "fisherman", "baker",  "shepherd", "gardener", "tailor",
    "carpenter", "sailor",    "farmer", "teacher",  "weaver",   "doctor",
    "hunter",    "painter",   "singer", "potter"};
constexpr absl::string_view kBeasts[] = {
    "fox",  "bear",   "goose", "rabbit", "crow", "cat",    "wolf", "hen",
    "goat", "donkey", "mouse", "frog",   "deer", "badger", "duck", "sparrow"};
constexpr absl::string_view kPlaces[] = {
    "by the river",         "near the old mill",
    "behind the hill",      "at the edge of the forest",
    "under the bridge",     "beside the lake",
    "on the high mountain", "in the small village",
    "by the sea",           "in the deep valley",
    "next to the market",   "on the long road",
    "below the castle",     "at the crossroads",
    "in the quiet garden",  "beyond the fields"};
constexpr absl::string_view kBags[] = {"bag",  "pocket", "box",
                                       "sack", "coat",   "cart"};
constexpr absl::string_view kWeather[] = {
    "The sun was shining", "It was raining",    "The wind was blowing",
    "Snow was falling",    "The moon was high", "There was thick fog",
    "The stars were out",  "It was very hot"};
constexpr absl::string_view kTimes[] = {"morning", "day", "evening"};
constexpr absl::string_view kFeelings[] = {
    "glad", "sad", "tired", "proud", "afraid", "hungry", "happy", "lonely"};
constexpr absl::string_view kMoves[] = {
    "walked", "ran", "went", "hurried", "wandered", "climbed", "rode"};
constexpr absl::string_view kSounds[] = {"tick tock",  "ding dong", "hey ho",
                                         "tra la la",  "rum tum",   "hum drum",
                                         "fiddle dee", "hop hop"};
constexpr absl::string_view kNouns[] = {"rain",  "sun",   "bread", "milk",
                                        "night", "fire",  "salt",  "gold",
                                        "wood",  "water", "wind",  "snow"};

constexpr absl::string_view kOnsets[] = {"b", "d",  "f",  "g",  "k",  "l",
                                         "m", "n",  "p",  "r",  "s",  "t",
                                         "v", "br", "st", "th", "tr", "sh"};
constexpr absl::string_view kVowels[] = {"a", "e", "i", "o", "u", "ai", "ee"};
constexpr absl::string_view kCodas[] = {"", "", "", "n", "l", "r", "s", "m"};

// Placeholders: $H, $h  name and trade of the hero; $P, $p, $o  He, he, his (or
// She, she, her); $F, $f  name and species of the friend; $A, $a  name and kind
// of the character met; $T, $t  the carried thing with and without adjective;
// $N  the offered thing; $B  the bag; $L  home; $W  another place; $w  the
// weather; $d  a time of day; $e  a feeling; $m  a movement; $x, $y, $z  an
// adjective, a thing and an animal that do not matter; $1, $2, $3  a sound and
// two nouns of the refrain.
constexpr absl::string_view kOpenings[] = {
    "Once there was a $h named $H who lived $L. $w that $d.",
    "Long ago a $h lived $L, and the name of the $h was $H.",
    "$H was a $h. $P lived $L with a $f called $F.",
    "There was once a $h $L. Everyone knew $H, and $H was never $e.",
    "Have you heard of $H, the $h? $P had a house $L.",
    "In the days when wishes still came true, $H the $h lived $L.",
    "Nobody $L was as poor as $H. $P was a $h, and $o only friend was a $f.",
    "My grandmother told me of a $h whose name was $H. $P lived $L."};
constexpr absl::string_view kCarrying[] = {
    "$H had a $T and kept it in $o $B.",
    "In $o $B $H carried a $T, and nobody was allowed to touch it.",
    "One $d $H found a $T $W and put it into $o $B.",
    "The $f, whose name was $F, had given $H a $T for $o $B.",
    "All that $H owned was a $T, which lay in $o $B.",
    "$P had no money, but $p had a $T. \"Keep it in your $B,\" $F the $f "
    "always said."};
constexpr absl::string_view kRefrains[] = {
    "\"Sing $1, $1, $2 and $3, who will carry the $t for me?\"",
    "\"Oh $1! $2 for the $h and $3 for the $f, $1!\"",
    "\"Oh $2, oh $3, the $T is mine, $1!\"",
    "\"And $1, said the $2, $1, said the $3, and $H goes home again!\""};
constexpr absl::string_view kWays[] = {
    "So $H $m away, and $F the $f came too. $w.",
    "Then $H $m on until $p came to a house $W.",
    "$w, and $H was $e. \"We must go on,\" said $F.",
    "$H and $F $m all day. At last they were $W.",
    "The next $d $H $m farther, with the $T in $o $B.",
    "They slept $W, and when $d came $H was $e again.",
    "\"How far is it?\" asked $F. \"Not far,\" said $H, and they $m on.",
    "After three days $H $m past a tower $W, and $F began to sing.",
    "$w. $H had not eaten since the $d and sat down $W."};
constexpr absl::string_view kMeetings[] = {
    "There $p met a $a. \"Good $d,\" said the $a. \"I am $A. What have you got "
    "in your $B?\" \"A $T,\" said $H.",
    "A $a was sitting $W. \"Who are you?\" asked the $a. \"I am $H, the $h,\" "
    "said $H, \"and this is $F.\" \"My name is $A,\" said the $a.",
    "\"Stop!\" cried a $a. \"Nobody passes $A without a gift.\" $H looked into "
    "$o $B, but there was only the $T.",
    "And who was $W? It was $A the $a. \"Dear $H,\" said $A, \"I am so $e.\"",
    "On the way they saw $A, an old friend of the $h. $A was a $a, and lived "
    "$W.",
    "\"Help!\" somebody called $W. It was a $a whose name was $A, and $A was "
    "$e.",
    "\"I know you,\" said a $a. \"You are $H, and in your $B there is a $T. I "
    "am $A.\""};
constexpr absl::string_view kTrades[] = {
    "\"Give me the $t, $H, and I will give you a $N,\" said $A. So $H gave "
    "away the $T and put the $N into $o $B.",
    "$A wanted the $t very much. \"Take my $N for it,\" said $A the $a, and $H "
    "took the $N.",
    "In the night somebody stole the $T! But in the $B lay a $N, and $H kept "
    "it.",
    "$H was $e and wanted to help. \"Here is my $t,\" $p said. $A thanked the "
    "$h and left a $N for $H.",
    "They played for it, and $A won the $t. \"But you shall not go with "
    "nothing,\" said the $a, and $H got a $N."};
constexpr absl::string_view kRefusals[] = {
    "\"Give me the $t,\" said $A. \"No,\" said $H, \"the $t is mine.\" And the "
    "$T stayed in the $B.",
    "$A looked at the $T for a long time. Then the $a smiled and said, \"Keep "
    "your $t, $H, and take care of $F.\"",
    "\"I have a $N,\" said $A, \"but your $t is better.\" $H was $e and held "
    "the $t tight.",
    "$A asked for the $T three times, and three times $H said no.",
    "\"What is a $t good for?\" asked the $a. \"You will see,\" said $H, and "
    "showed $A the $T."};
constexpr absl::string_view kAsides[] = {
    "A $x $y was lying $W, but nobody saw it.",
    "Far away a $z was looking for a $x $y.",
    "\"Is that a $z?\" asked $F. \"No, it is only a $x $y,\" said $H.",
    "$F dreamed of a $z with a $x $y.",
    "They counted every $y they could see, and every $z too.",
    "The house was full of things: a $x $y, a picture of a $z, and some $2.",
    "There was no $2 left, and $H thought of $3."};
constexpr absl::string_view kEndings[] = {
    "At last $H came home, $L. $P put the $T on the table, and $F the $f fell "
    "asleep beside it.",
    "And so the $h went back to the house $L. If you visit $H today, you will "
    "see the $T still.",
    "$H never sold the $t. $P lived $L with $F for many years, and everybody "
    "was happy.",
    "Do you want to know what became of the $T? It is still in the $B, and $H "
    "is still $L.",
    "When they were home again, $F the $f said, \"Dear $H, never leave the "
    "house $L again.\" And $p never did."};

// Generates stories from the grammar above.
class StoryGenerator {
 public:
  explicit StoryGenerator(RandomStream& stream) : stream_(stream) {}

  // Appends a story of about a thousand bytes.
  void AppendStory(std::string* out) {
    out_ = out;
    ChooseCast();
    Append("The $h and the $t\n\n");
    AppendOneOf(kOpenings, " ");
    AppendOneOf(kCarrying, "\n");
    AppendRefrain();
    const int64_t episode_count = DrawInteger(stream_, 2, 4);
    for (int64_t i = 0; i < episode_count; ++i) {
      ChooseEncounter();
      AppendOneOf(kWays, " ");
      if (DrawInteger(stream_, 0, 1) == 0) AppendOneOf(kAsides, " ");
      AppendOneOf(kMeetings, " ");
      if (DrawInteger(stream_, 0, 1) == 0) {
        AppendOneOf(kTrades, "\n");
        adjective_ = offer_adjective_;
        thing_ = offer_;
      } else {
        AppendOneOf(kRefusals, "\n");
      }
      AppendRefrain();
    }
    AppendOneOf(kEndings, "\n\n\n");
  }

 private:
  std::string Pick(Words words) {
    return std::string(
        words[DrawInteger(stream_, 0, static_cast<int64_t>(words.size()) - 1)]);
  }

  std::string PickOther(Words words, absl::string_view than) {
    std::string word = Pick(words);
    while (word == than) word = Pick(words);
    return word;
  }

  // Each Pick() is a statement of its own, since the evaluation order of
  // function arguments is unspecified.
  std::string Name() {
    std::string name = Pick(kOnsets);
    name += Pick(kVowels);
    name += Pick(kOnsets);
    name += Pick(kVowels);
    name += Pick(kCodas);
    name[0] = absl::ascii_toupper(name[0]);
    return name;
  }

  // Chooses the characters and things of a story.
  void ChooseCast() {
    hero_ = Pick(kPeople);
    hero_name_ = Name();
    is_she_ = DrawInteger(stream_, 0, 1) == 1;
    friend_ = Pick(kBeasts);
    friend_name_ = Name();
    home_ = Pick(kPlaces);
    bag_ = Pick(kBags);
    adjective_ = Pick(kAdjectives);
    thing_ = Pick(kThings);
    refrain_ = Pick(kRefrains);
    sound_ = Pick(kSounds);
    first_noun_ = Pick(kNouns);
    second_noun_ = PickOther(kNouns, first_noun_);
    ChooseEncounter();
  }

  // Chooses another character, with a thing to offer.
  void ChooseEncounter() {
    other_ = DrawInteger(stream_, 0, 1) == 0 ? PickOther(kPeople, hero_)
                                             : PickOther(kBeasts, friend_);
    other_name_ = Name();
    offer_adjective_ = Pick(kAdjectives);
    offer_ = PickOther(kThings, thing_);
  }

  void AppendOneOf(Words sentences, absl::string_view end) {
    Append(Pick(sentences));
    out_->append(end.data(), end.size());
  }

  void AppendRefrain() {
    Append(refrain_);
    Append(DrawInteger(stream_, 0, 1) == 0 ? " sang $H.\n" : " sang $F.\n");
  }

  // Appends a sentence with its placeholders replaced. The elements of a braced
  // list are evaluated in order, so that draws are reproducible.
  void Append(absl::string_view sentence) {
    *out_ += absl::StrReplaceAll(
        sentence, {{"$H", hero_name_},
                   {"$h", hero_},
                   {"$P", is_she_ ? "She" : "He"},
                   {"$p", is_she_ ? "she" : "he"},
                   {"$o", is_she_ ? "her" : "his"},
                   {"$F", friend_name_},
                   {"$f", friend_},
                   {"$A", other_name_},
                   {"$a", other_},
                   {"$T", absl::StrCat(adjective_, " ", thing_)},
                   {"$t", thing_},
                   {"$N", absl::StrCat(offer_adjective_, " ", offer_)},
                   {"$B", bag_},
                   {"$L", home_},
                   {"$W", PickOther(kPlaces, home_)},
                   {"$w", Pick(kWeather)},
                   {"$d", Pick(kTimes)},
                   {"$e", Pick(kFeelings)},
                   {"$m", Pick(kMoves)},
                   {"$x", Pick(kAdjectives)},
                   {"$y", Pick(kThings)},
                   {"$z", Pick(kBeasts)},
                   {"$1", sound_},
                   {"$2", first_noun_},
                   {"$3", second_noun_}});
  }

  RandomStream& stream_;
  std::string* out_ = nullptr;
  bool is_she_ = false;
  std::string hero_, hero_name_, friend_, friend_name_, other_, other_name_;
  std::string adjective_, thing_, offer_adjective_, offer_, bag_, home_;
  std::string refrain_, sound_, first_noun_, second_noun_;
};

std::string MakeCorpus() {
  RandomStream stream(0, "evaluation.text.corpus");
  StoryGenerator generator(stream);
  std::string text;
  while (text.size() < kCorpusBytes) generator.AppendStory(&text);
  return text;
}

}  // namespace

absl::string_view BuiltInCorpus() {
  // Never destroyed, so that threads may still read it at exit.
  static const std::string* const corpus = new std::string(MakeCorpus());
  return *corpus;
}

}  // namespace locus
