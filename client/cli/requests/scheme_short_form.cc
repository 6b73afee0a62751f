#include "client/cli/requests/scheme_short_form.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/suggest.h"
#include "google/protobuf/message.h"

namespace locus::client {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

constexpr absl::string_view kTimes = "\u00d7";

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '-';
}

// Parses an integer, which may be written like a number: 8192 or 4e3.
template <typename Integer>
bool ParseInteger(absl::string_view text, Integer* value) {
  if (absl::SimpleAtoi(text, value)) return true;
  double number = 0;
  constexpr double kMaxExact = 0x1p53;
  if (!absl::SimpleAtod(text, &number) || number != std::floor(number) ||
      std::abs(number) > kMaxExact ||
      (number < 0 && !std::is_signed_v<Integer>)) {
    return false;
  }
  *value = static_cast<Integer>(number);
  return true;
}

class ShortFormParser {
 public:
  ShortFormParser(absl::string_view text, size_t offset,
                  std::set<const FieldDescriptor*>* given)
      : text_(text), at_(offset), given_(given) {}

  std::optional<SchemeError> Run(const NamedScheme& name, v1::Scheme* scheme) {
    kind_ = name.kind;
    Message* kind = scheme->GetReflection()->MutableMessage(scheme, name.kind);
    given_->insert(name.kind);
    std::vector<Message*> scopes = {kind, scheme};
    if (name.group != nullptr) {
      group_ = name.group;
      given_->insert(name.group);
      scopes.insert(scopes.begin(),
                    kind->GetReflection()->MutableMessage(kind, name.group));
    }
    if (TakeTimes()) {
      if (!ParseGroupFactor(scopes.front())) return error_;
      SkipSeparator();
    }
    const bool has_parenthesis = Take('(');
    if (!has_parenthesis) Take(':');
    if (!ParseParameters(scopes, 0)) return error_;
    if (has_parenthesis && !Take(')')) {
      Fail(at_, "a closing ) is missing");
      return error_;
    }
    SkipSpace();
    if (at_ < text_.size()) Fail(at_, "the scheme should end here");
    return error_;
  }

 private:
  // Records the first error and returns false.
  bool Fail(size_t offset, std::string message) {
    if (!error_.has_value()) {
      error_ = {offset, std::move(message),
                SchemeExample(kind_->name(),
                              group_ == nullptr ? "" : group_->name())};
    }
    return false;
  }

  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  // Skips spaces and at most one comma.
  void SkipSeparator() {
    SkipSpace();
    if (Take(',')) SkipSpace();
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeTimes() {
    if (text_.substr(at_, kTimes.size()) != kTimes) return false;
    at_ += kTimes.size();
    return true;
  }
  absl::string_view TakeName() {
    const size_t start = at_;
    while (at_ < text_.size() && IsNameCharacter(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  // The text up to the next comma, space or closing parenthesis; inside of
  // brackets, commas and spaces belong to it.
  absl::string_view TakeValue() {
    SkipSpace();
    const size_t start = at_;
    const bool is_list = at_ < text_.size() && text_[at_] == '[';
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_list) {
        ++at_;
        if (c == ']') break;
      } else {
        if (c == ',' || c == ')' || absl::ascii_isspace(c)) break;
        ++at_;
      }
    }
    return text_.substr(start, at_ - start);
  }

  // Parses parameters up to the end of the text or a closing parenthesis. The
  // first name of a path is looked up in each scope in turn.
  bool ParseParameters(const std::vector<Message*>& scopes, int depth) {
    while (true) {
      SkipSpace();
      if (at_ >= text_.size() || text_[at_] == ')') return true;
      if (!ParseParameter(scopes, depth)) return false;
      SkipSeparator();
    }
  }

  bool ParseParameter(const std::vector<Message*>& scopes, int depth) {
    const size_t start = at_;
    absl::string_view name = TakeName();
    if (name.empty()) return Fail(at_, "expected the name of a parameter");
    Message* message = nullptr;
    const FieldDescriptor* field = nullptr;
    for (Message* scope : scopes) {
      message = scope;
      field = FindParameter(*scope, name);
      if (field != nullptr) break;
    }
    if (field == nullptr) return FailUnknown(start, name, scopes);
    while (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!Enter(start, &message, *field)) return false;
      const size_t part = at_;
      name = TakeName();
      field = FindParameter(*message, name);
      if (field == nullptr) return FailUnknown(part, name, {message});
    }
    return ParseAssignment(start, message, *field, depth);
  }

  // Kinds of schemes are no parameters.
  static const FieldDescriptor* FindParameter(const Message& message,
                                              absl::string_view name) {
    const FieldDescriptor* field =
        FindFieldByAnyCase(*message.GetDescriptor(), name);
    const bool is_kind = field != nullptr &&
                         field->containing_type() == v1::Scheme::descriptor() &&
                         field->containing_oneof() != nullptr;
    return is_kind ? nullptr : field;
  }

  bool FailUnknown(size_t offset, absl::string_view name,
                   const std::vector<Message*>& scopes) {
    std::vector<std::string> names;
    for (const Message* scope : scopes) {
      if (scope->GetDescriptor() == v1::Scheme::descriptor()) continue;
      for (std::string& field : FieldNames(*scope->GetDescriptor())) {
        names.push_back(std::move(field));
      }
    }
    return Fail(
        offset,
        absl::StrCat("there is no field \"", name, "\"",
                     DidYouMean(name, names), " (fields: ",
                     names.empty() ? "none" : absl::StrJoin(names, ", "), ")"));
  }

  // Sets a field that is a message, and makes `*message` point to it.
  bool Enter(size_t offset, Message** message, const FieldDescriptor& field) {
    if (field.message_type() == nullptr || field.is_repeated() ||
        field.message_type() == v1::Tensor::descriptor()) {
      return Fail(offset, absl::StrCat(field.name(), " has no fields"));
    }
    if (!CheckOneof(offset, **message, field)) return false;
    given_->insert(&field);
    if (field.containing_type() == kind_->message_type()) group_ = &field;
    *message = (*message)->GetReflection()->MutableMessage(*message, &field);
    return true;
  }

  // Fails if another field of the same oneof is set.
  bool CheckOneof(size_t offset, const Message& message,
                  const FieldDescriptor& field) {
    const auto* oneof = field.real_containing_oneof();
    if (oneof == nullptr) return true;
    const FieldDescriptor* other =
        message.GetReflection()->GetOneofFieldDescriptor(message, oneof);
    if (other == nullptr || other == &field) return true;
    return Fail(offset,
                absl::StrCat(other->name(), " and ", field.name(),
                             " exclude each other; give one ", oneof->name()));
  }

  bool ParseAssignment(size_t start, Message* message,
                       const FieldDescriptor& field, int depth) {
    if (field.message_type() != nullptr) {
      if (!Enter(start, &message, field)) return false;
      constexpr int kMaxDepth = 8;
      if (TakeTimes() || Take('=')) return ParseGroupFactor(message);
      if (!Take('(')) return true;
      if (depth >= kMaxDepth) return Fail(at_, "nested too deeply");
      if (!ParseParameters({message}, depth + 1)) return false;
      return Take(')') || Fail(at_, "a closing ) is missing");
    }
    if (!CheckOneof(start, *message, field)) return false;
    if (!given_->insert(&field).second) {
      return Fail(start, absl::StrCat(field.name(), " is given twice"));
    }
    if (!Take('=')) {
      if (field.type() != FieldDescriptor::TYPE_BOOL) {
        return Fail(at_, absl::StrCat(field.name(), " needs a value: ",
                                      field.name(), "=..."));
      }
      message->GetReflection()->SetBool(message, &field, true);
      return true;
    }
    SkipSpace();
    const size_t value = at_;
    return field.is_repeated() ? SetList(value, TakeValue(), message, field)
                               : SetValue(value, TakeValue(), message, field);
  }

  // Parses the number that follows the name of a group, and sets its factor.
  bool ParseGroupFactor(Message* group) {
    const FieldDescriptor* factor =
        group->GetDescriptor()->FindFieldByName("factor");
    SkipSpace();
    const size_t value = at_;
    if (factor == nullptr) {
      return Fail(
          value,
          absl::StrCat("has no factor; write its parameters by name (",
                       absl::StrJoin(FieldNames(*group->GetDescriptor()), ", "),
                       ")"));
    }
    if (!given_->insert(factor).second) {
      return Fail(value, "factor is given twice");
    }
    return SetValue(value, TakeValue(), group, *factor);
  }

  bool FailValue(size_t offset, absl::string_view value,
                 const FieldDescriptor& field, absl::string_view rule) {
    return Fail(offset, absl::StrCat(field.name(), " is \"", value,
                                     "\"; must be ", rule));
  }

  bool SetList(size_t offset, absl::string_view value, Message* message,
               const FieldDescriptor& field) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE) {
      return Fail(offset, absl::StrCat(field.name(),
                                       " cannot be written in this form"));
    }
    absl::string_view items = value;
    if (!items.empty() && items.front() == '[') {
      if (items.back() != ']') return Fail(at_, "a closing ] is missing");
      items = items.substr(1, items.size() - 2);
    }
    for (const absl::string_view item :
         absl::StrSplit(items, absl::ByAnyChar(", "), absl::SkipEmpty())) {
      double number = 0;
      if (!absl::SimpleAtod(item, &number)) {
        return FailValue(offset + (item.data() - value.data()), item, field,
                         "a number");
      }
      message->GetReflection()->AddDouble(message, &field, number);
    }
    return true;
  }

  bool SetValue(size_t offset, absl::string_view value, Message* message,
                const FieldDescriptor& field) {
    const Reflection& reflection = *message->GetReflection();
    const auto fail = [&](absl::string_view rule) {
      return FailValue(offset, value, field, rule);
    };
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double number = 0;
        if (!absl::SimpleAtod(value, &number)) return fail("a number");
        reflection.SetDouble(message, &field, number);
        return true;
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        int64_t number = 0;
        if (!ParseInteger(value, &number)) return fail("an integer");
        reflection.SetInt64(message, &field, number);
        return true;
      }
      case FieldDescriptor::CPPTYPE_UINT64: {
        uint64_t number = 0;
        if (!ParseInteger(value, &number)) {
          return fail("an integer that is not negative");
        }
        reflection.SetUInt64(message, &field, number);
        return true;
      }
      case FieldDescriptor::CPPTYPE_BOOL: {
        bool flag = false;
        if (!absl::SimpleAtob(value, &flag)) return fail("true or false");
        reflection.SetBool(message, &field, flag);
        return true;
      }
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* choice = FindChoice(*field.enum_type(), value);
        if (choice == nullptr) {
          return Fail(offset, UnknownChoiceMessage(field, value));
        }
        reflection.SetEnum(message, &field, choice);
        return true;
      }
      default:
        return Fail(offset, absl::StrCat(field.name(),
                                         " cannot be written in this form"));
    }
  }

  const absl::string_view text_;
  size_t at_;
  std::set<const FieldDescriptor*>* const given_;
  const FieldDescriptor* kind_ = nullptr;
  // The group that was entered last, for the example of an error.
  const FieldDescriptor* group_ = nullptr;
  std::optional<SchemeError> error_;
};

}  // namespace

std::optional<SchemeError> ParseShortForm(
    absl::string_view text, size_t offset, const NamedScheme& name,
    v1::Scheme* scheme, std::set<const FieldDescriptor*>* given) {
  return ShortFormParser(text, offset, given).Run(name, scheme);
}

}  // namespace locus::client
