#include "client/cli/requests/scheme_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/base/status_macros.h"
#include "client/cli/support/suggest.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"

namespace locus::client {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::io::Tokenizer;

// An error at a line and column that count from 0; in the message they count
// from 1.
absl::Status ErrorAt(int line, int column, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", what));
}

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

std::vector<std::string> FieldNames(const Descriptor& message) {
  std::vector<std::string> names;
  names.reserve(message.field_count());
  for (int i = 0; i < message.field_count(); ++i) {
    names.push_back(message.field(i)->name());
  }
  return names;
}

absl::Status UnknownField(const Tokenizer::Token& token,
                          const Descriptor& message) {
  const bool is_scheme = &message == v1::Scheme::descriptor();
  const std::vector<std::string> names =
      is_scheme ? SchemeNames() : FieldNames(message);
  return ErrorAt(
      token.line, token.column,
      absl::StrCat(is_scheme ? "there is no scheme \"" : "there is no field \"",
                   token.text, "\"", DidYouMean(token.text, names),
                   is_scheme ? " (schemes: " : " (fields: ",
                   names.empty() ? "none" : absl::StrJoin(names, ", "), ")"));
}

// The common prefix of all values of an enum. By convention, the first value is
// named <PREFIX>UNSPECIFIED.
std::string PrefixOf(const EnumDescriptor& type) {
  return std::string(absl::StripSuffix(type.value(0)->name(), "UNSPECIFIED"));
}

absl::Status UnknownChoice(const Tokenizer::Token& token,
                           const FieldDescriptor& field) {
  const EnumDescriptor& type = *field.enum_type();
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i) {
    names.emplace_back(
        absl::StripPrefix(type.value(i)->name(), PrefixOf(type)));
  }
  return ErrorAt(token.line, token.column,
                 absl::StrCat(field.name(), " has no choice \"", token.text,
                              "\"", DidYouMean(token.text, names),
                              " (choices: ", absl::StrJoin(names, ", "), ")"));
}

// Expands the abbreviations of a scheme's text. Walks through the tokens along
// the message descriptors, writes enum values out in full, and reports unknown
// names with suggestions. The expanded text is then parsed by protobuf.
class AbbreviationExpander {
 public:
  explicit AbbreviationExpander(absl::string_view text)
      : lines_(absl::StrSplit(text, '\n')) {
    google::protobuf::io::ArrayInputStream stream(
        text.data(), static_cast<int>(text.size()));
    FirstError ignored;
    Tokenizer tokenizer(&stream, &ignored);
    tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    while (tokenizer.Next()) tokens_.push_back(tokenizer.current());
  }

  absl::Status Run() {
    if (tokens_.size() == 1 && IsName(0)) {
      if (Field(0) == nullptr) return UnknownField(tokens_[0], *messages_[0]);
      lines_.back().append(" {}");
      // After a comment, the braces must go on a new line.
      if (absl::StrContains(lines_.back(), '#')) lines_.emplace_back("{}");
    }
    const FieldDescriptor* field = nullptr;
    for (size_t i = 0; i < tokens_.size() && !messages_.empty(); ++i) {
      const std::string& text = tokens_[i].text;
      if (text == "{" || text == "<") {
        if (field == nullptr || field->message_type() == nullptr) break;
        messages_.push_back(field->message_type());
        field = nullptr;
      } else if (text == "}" || text == ">") {
        messages_.pop_back();
      } else if (IsName(i) && IsFollowedByValue(i)) {
        field = Field(i);
        if (field == nullptr) {
          return UnknownField(tokens_[i], *messages_.back());
        }
      } else if (IsName(i) && field != nullptr && field->enum_type()) {
        CLIENT_RETURN_IF_ERROR(ExpandChoice(tokens_[i], *field));
      }
    }
    return absl::OkStatus();
  }

  std::string text() const { return absl::StrJoin(lines_, "\n"); }

  // Maps a column of the expanded text to the original text.
  int OriginalColumn(int line, int column) const {
    for (const Edit& edit : edits_) {
      if (edit.line == line && column > edit.column) column -= edit.growth;
    }
    return column;
  }

 private:
  struct Edit {
    int line;
    int column;
    int growth;
  };

  bool IsName(size_t i) const {
    return tokens_[i].type == Tokenizer::TYPE_IDENTIFIER;
  }
  bool IsFollowedByValue(size_t i) const {
    if (i + 1 >= tokens_.size()) return false;
    const std::string& next = tokens_[i + 1].text;
    return next == ":" || next == "{" || next == "<";
  }
  const FieldDescriptor* Field(size_t i) const {
    return messages_.back()->FindFieldByName(tokens_[i].text);
  }

  absl::Status ExpandChoice(const Tokenizer::Token& token,
                            const FieldDescriptor& field) {
    const EnumDescriptor& type = *field.enum_type();
    if (type.FindValueByName(token.text) != nullptr) return absl::OkStatus();
    const std::string full =
        absl::StrCat(PrefixOf(type), absl::AsciiStrToUpper(token.text));
    if (type.FindValueByName(full) == nullptr) {
      return UnknownChoice(token, field);
    }
    int column = token.column;
    for (const Edit& edit : edits_) {
      if (edit.line == token.line) column += edit.growth;
    }
    lines_[token.line].replace(column, token.text.size(), full);
    const int growth = static_cast<int>(full.size() - token.text.size());
    edits_.insert(edits_.begin(), {token.line, column, growth});
    return absl::OkStatus();
  }

  std::vector<std::string> lines_;
  std::vector<Tokenizer::Token> tokens_;
  std::vector<const Descriptor*> messages_ = {v1::Scheme::descriptor()};
  // The last edit comes first, so that OriginalColumn() undoes them in order.
  std::vector<Edit> edits_;
};

const FieldDescriptor* ChosenField(const v1::Scheme& scheme) {
  return v1::Scheme::GetReflection()->GetOneofFieldDescriptor(
      scheme, v1::Scheme::descriptor()->FindOneofByName("kind"));
}

}  // namespace

absl::StatusOr<v1::Scheme> ParseScheme(const std::string& text) {
  // Tabs become spaces, because the tokenizer counts a tab as up to eight
  // columns.
  AbbreviationExpander expander(absl::StrReplaceAll(text, {{"\t", " "}}));
  CLIENT_RETURN_IF_ERROR(expander.Run());
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  v1::Scheme scheme;
  if (!parser.ParseFromString(expander.text(), &scheme)) {
    return ErrorAt(error.line,
                   expander.OriginalColumn(error.line, error.column),
                   absl::StrReplaceAll(error.message, {{"locus.v1.", ""}}));
  }
  if (ChosenField(scheme) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "names no scheme; schemes: ", absl::StrJoin(SchemeNames(), ", ")));
  }
  return scheme;
}

std::vector<std::string> SchemeNames() {
  const auto& kinds = *v1::Scheme::descriptor()->FindOneofByName("kind");
  std::vector<std::string> names;
  for (int i = 0; i < kinds.field_count(); ++i) {
    names.push_back(kinds.field(i)->name());
  }
  return names;
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
