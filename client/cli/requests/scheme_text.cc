#include "client/cli/requests/scheme_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/base/status_macros.h"
#include "client/cli/requests/scheme_error.h"
#include "client/cli/requests/scheme_names.h"
#include "client/cli/requests/scheme_short_form.h"
#include "client/cli/support/suggest.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"

namespace locus::client {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::io::Tokenizer;

// Keeps only the first error, because later ones are usually its consequences.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int error_line, int error_column,
                const std::string& error_message) override {
    if (has_error) return;
    has_error = true;
    line = error_line;
    column = error_column;
    message = error_message;
  }

  bool has_error = false;
  int line = 0;
  int column = 0;
  std::string message;
};

// The byte at a line and column that count from 0.
size_t OffsetOf(absl::string_view text, int line, int column) {
  size_t start = 0;
  for (; line > 0; --line) {
    const size_t end = text.find('\n', start);
    if (end == absl::string_view::npos) return text.size();
    start = end + 1;
  }
  return std::min(text.size(), start + column);
}

// Rewrites protobuf text format with abbreviations into plain text format.
// Walks through the tokens along the message descriptors, writes names and enum
// values out in full, and reports unknown names with suggestions.
class TextExpander {
 public:
  explicit TextExpander(absl::string_view text) : text_(text) {
    google::protobuf::io::ArrayInputStream stream(
        text.data(), static_cast<int>(text.size()));
    Tokenizer tokenizer(&stream, &tokenizer_error_);
    tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokenizer.set_allow_f_after_float(true);
    while (tokenizer.Next()) tokens_.push_back(tokenizer.current());
  }

  std::optional<SchemeError> Run() {
    if (tokenizer_error_.has_error) {
      return ErrorAt(
          OffsetOf(text_, tokenizer_error_.line, tokenizer_error_.column),
          tokenizer_error_.message);
    }
    const bool is_bare_name = tokens_.size() == 1 && IsName(0);
    for (size_t i = 0; i < tokens_.size(); ++i) {
      std::optional<SchemeError> error = AddToken(i, is_bare_name);
      if (error.has_value()) return error;
    }
    if (is_bare_name) AddClosers(Scope{.opened = pending_}, "{ }");
    return std::nullopt;
  }

  // The expanded text, on one line.
  const std::string& expanded() const { return expanded_; }
  // The error of protobuf's parser at a column of the expanded text.
  SchemeError ParserError(int column, const std::string& message) const {
    const size_t at = std::max(column, 0);
    const auto next = std::upper_bound(
        starts_.begin(), starts_.end(), at,
        [](size_t a, const auto& start) { return a < start.first; });
    if (at >= expanded_.size() || next == starts_.begin()) {
      const size_t end = text_.find_last_not_of(" \n") + 1;
      return ErrorAt(end, scopes_.size() > 1
                              ? "the text ends here, but a closing } is missing"
                              : message);
    }
    return ErrorAt((next - 1)->second,
                   absl::StrReplaceAll(message, {{"locus.v1.", ""}}));
  }
  const std::set<const FieldDescriptor*>& given() const { return given_; }

 private:
  struct Scope {
    const Descriptor* message = nullptr;
    // The number of messages that a name opened around this one: 1 for `yarn`,
    // which is written as `rope { yarn`.
    int opened = 0;
  };

  bool IsName(size_t i) const {
    return tokens_[i].type == Tokenizer::TYPE_IDENTIFIER;
  }
  bool IsFollowedByValue(size_t i) const {
    if (i + 1 >= tokens_.size()) return false;
    const std::string& next = tokens_[i + 1].text;
    return next == ":" || next == "{" || next == "<";
  }
  size_t Offset(size_t i) const {
    return OffsetOf(text_, tokens_[i].line, tokens_[i].column);
  }
  SchemeError ErrorAt(size_t offset, std::string message) const {
    return {offset, std::move(message), SchemeExample(kind_, group_)};
  }

  void Append(size_t offset, absl::string_view text) {
    if (!expanded_.empty()) expanded_ += ' ';
    starts_.emplace_back(expanded_.size(), offset);
    absl::StrAppend(&expanded_, text);
  }
  void AddClosers(const Scope& scope, absl::string_view text) {
    Append(text_.size(), text);
    for (int i = 0; i < scope.opened; ++i) Append(text_.size(), "}");
  }

  std::optional<SchemeError> AddToken(size_t i, bool is_bare_name) {
    const std::string& text = tokens_[i].text;
    const bool is_known = !scopes_.empty() && scopes_.back().message != nullptr;
    if (text == "{" || text == "<") {
      // Inside of a field that has no fields, names are left to protobuf.
      scopes_.push_back({field_ == nullptr ? nullptr : field_->message_type(),
                         std::exchange(pending_, 0)});
      field_ = nullptr;
    } else if ((text == "}" || text == ">") && !scopes_.empty()) {
      Append(Offset(i), text);
      for (int n = 0; n < scopes_.back().opened; ++n) Append(Offset(i), "}");
      scopes_.pop_back();
      return std::nullopt;
    } else if (IsName(i) && is_known &&
               (is_bare_name || IsFollowedByValue(i))) {
      return AddName(i);
    } else if (IsName(i) && field_ != nullptr && field_->enum_type()) {
      return AddChoice(i);
    }
    Append(Offset(i), text);
    return std::nullopt;
  }

  // Adds the name of a field, or a name that stands for a scheme.
  std::optional<SchemeError> AddName(size_t i) {
    const Descriptor& message = *scopes_.back().message;
    const std::string& text = tokens_[i].text;
    field_ = FindFieldByAnyCase(message, text);
    const bool is_scheme = &message == v1::Scheme::descriptor();
    if (is_scheme) {
      if (const auto named = FindNamedScheme(text); named.has_value()) {
        kind_ = named->kind->name();
        field_ = named->kind;
        if (named->group != nullptr) {
          given_.insert(named->kind);
          Append(Offset(i), absl::StrCat(named->kind->name(), " {"));
          pending_ = 1;
          field_ = named->group;
        }
      }
    }
    if (field_ == nullptr) return UnknownName(i, message);
    if (!is_scheme && field_->message_type() != nullptr &&
        field_->containing_oneof() != nullptr) {
      group_ = field_->name();
    }
    given_.insert(field_);
    Append(Offset(i), field_->name());
    return std::nullopt;
  }

  std::optional<SchemeError> AddChoice(size_t i) {
    const auto* choice = FindChoice(*field_->enum_type(), tokens_[i].text);
    if (choice == nullptr) {
      return ErrorAt(Offset(i), UnknownChoiceMessage(*field_, tokens_[i].text));
    }
    Append(Offset(i), choice->name());
    return std::nullopt;
  }

  SchemeError UnknownName(size_t i, const Descriptor& message) const {
    const std::string& text = tokens_[i].text;
    if (&message != v1::Scheme::descriptor()) {
      const std::vector<std::string> names = FieldNames(message);
      return ErrorAt(
          Offset(i),
          absl::StrCat(
              "there is no field \"", text, "\"", DidYouMean(text, names),
              " (fields: ", names.empty() ? "none" : absl::StrJoin(names, ", "),
              ")"));
    }
    std::vector<std::string> names = SchemeNames();
    const std::string listed = absl::StrJoin(names, ", ");
    for (std::string& group : SchemeGroupNames()) {
      names.push_back(std::move(group));
    }
    const std::string lower = absl::AsciiStrToLower(text);
    const auto nearest = FindNamedScheme(Nearest(lower, names));
    return {
        Offset(i),
        absl::StrCat("there is no scheme \"", text, "\"",
                     DidYouMean(lower, names), " (schemes: ", listed, ")"),
        nearest.has_value() ? SchemeExample(nearest->kind->name(), "") : ""};
  }

  const absl::string_view text_;
  FirstError tokenizer_error_;
  std::vector<Tokenizer::Token> tokens_;
  std::string expanded_;
  // Pairs of a column of the expanded text and the byte of the original text
  // that it comes from.
  std::vector<std::pair<size_t, size_t>> starts_;
  std::vector<Scope> scopes_ = {{.message = v1::Scheme::descriptor()}};
  // The field whose value comes next, and the messages opened for it.
  const FieldDescriptor* field_ = nullptr;
  int pending_ = 0;
  std::set<const FieldDescriptor*> given_;
  // The scheme and the group of the text so far, for the example of an error.
  std::string kind_;
  std::string group_;
};

const FieldDescriptor* ChosenField(const v1::Scheme& scheme) {
  return v1::Scheme::GetReflection()->GetOneofFieldDescriptor(
      scheme, v1::Scheme::descriptor()->FindOneofByName("kind"));
}

// A label in front of a scheme.
struct Label {
  std::string text;
  // The length of the label with its equals sign; 0 if there is no label.
  size_t length = 0;
};

// Reads the label of `text`: NAME= or "NAME"=, where a name without quotes has
// no spaces. The form `rope base=5` therefore has no label.
Label ReadLabel(absl::string_view text) {
  const size_t start = text.find_first_not_of(" \n");
  if (start == absl::string_view::npos) return {};
  const bool is_quoted = text[start] == '"';
  const size_t first = start + (is_quoted ? 1 : 0);
  const size_t end =
      text.find_first_of(is_quoted ? "\"" : " \n=:(){}<>[],;#\"'", first);
  const size_t equals = is_quoted && end < text.size() ? end + 1 : end;
  if (equals >= text.size() || text[equals] != '=' || end == first) return {};
  return {std::string(text.substr(first, end - first)), equals + 1};
}

// If `text` begins with the name of a scheme in the short form, returns the
// scheme and sets `*end` to the end of its name.
std::optional<NamedScheme> ShortFormName(absl::string_view text, size_t* end) {
  const size_t start = text.find_first_not_of(" \n");
  if (start == absl::string_view::npos) return std::nullopt;
  *end = start;
  while (*end < text.size() && (absl::ascii_isalnum(text[*end]) ||
                                text[*end] == '_' || text[*end] == '-')) {
    ++*end;
  }
  const auto name = FindNamedScheme(text.substr(start, *end - start));
  if (!name.has_value()) return std::nullopt;
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(text.substr(*end));
  if (rest.empty()) return name;
  // A message (`rope {`, `rope: {`), or a comment after the name.
  if (rest[0] == '{' || rest[0] == '<' || rest[0] == '#') return std::nullopt;
  if (rest[0] == ':') {
    rest = absl::StripLeadingAsciiWhitespace(rest.substr(1));
    if (absl::StartsWith(rest, "{") || absl::StartsWith(rest, "<")) {
      return std::nullopt;
    }
    return name;
  }
  const bool is_separated = absl::ascii_isspace(text[*end]);
  const bool is_short = rest[0] == '(' || absl::StartsWith(rest, "\u00d7") ||
                        (is_separated && absl::ascii_isalpha(rest[0]));
  return is_short ? name : std::nullopt;
}

std::optional<SchemeError> ParseTextFormat(absl::string_view text,
                                           ParsedScheme* parsed) {
  TextExpander expander(text);
  if (auto error = expander.Run(); error.has_value()) return error;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(expander.expanded(), &parsed->scheme)) {
    return expander.ParserError(error.column, error.message);
  }
  parsed->given = expander.given();
  return std::nullopt;
}

}  // namespace

absl::StatusOr<ParsedScheme> ParseSchemeText(const std::string& given_text) {
  // Other spaces become plain ones, because the tokenizer counts a tab as up to
  // eight columns.
  const std::string whole =
      absl::StrReplaceAll(given_text, {{"\t", " "}, {"\r", " "}});
  const Label label = ReadLabel(whole);
  // Spaces in place of the label keep the columns of errors.
  std::string text = whole;
  text.replace(0, label.length, label.length, ' ');
  ParsedScheme parsed;
  size_t end = 0;
  const std::optional<NamedScheme> name = ShortFormName(text, &end);
  const std::optional<SchemeError> error =
      name.has_value()
          ? ParseShortForm(text, end, *name, &parsed.scheme, &parsed.given)
          : ParseTextFormat(text, &parsed);
  if (error.has_value()) return SchemeErrorStatus(whole, *error);
  if (ChosenField(parsed.scheme) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "names no scheme; schemes: ", absl::StrJoin(SchemeNames(), ", ")));
  }
  if (label.length > 0) parsed.scheme.set_label(label.text);
  return parsed;
}

absl::StatusOr<v1::Scheme> ParseScheme(const std::string& text) {
  CLIENT_ASSIGN_OR_RETURN(ParsedScheme parsed, ParseSchemeText(text));
  return std::move(parsed.scheme);
}

std::string SchemeName(const v1::Scheme& scheme) {
  const FieldDescriptor* field = ChosenField(scheme);
  return field == nullptr ? "" : field->name();
}

absl::Status SetTable(const v1::Tensor& table, v1::Scheme* scheme) {
  const FieldDescriptor* kind = ChosenField(*scheme);
  const FieldDescriptor* field =
      kind == nullptr ? nullptr
                      : kind->message_type()->FindFieldByName("table");
  if (field == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(SchemeName(*scheme), " takes no table"));
  }
  google::protobuf::Message* message =
      v1::Scheme::GetReflection()->MutableMessage(scheme, kind);
  message->GetReflection()->MutableMessage(message, field)->CopyFrom(table);
  return absl::OkStatus();
}

}  // namespace locus::client
