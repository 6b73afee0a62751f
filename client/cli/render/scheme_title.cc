#include "client/cli/render/scheme_title.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/plot/scale.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace locus::client {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

// Returns the message of the scheme's kind, or null if none is set.
const Message* KindOf(const v1::Scheme& scheme, std::string* name) {
  const auto* oneof = v1::Scheme::descriptor()->FindOneofByName("kind");
  const FieldDescriptor* field =
      scheme.GetReflection()->GetOneofFieldDescriptor(scheme, oneof);
  if (field == nullptr) return nullptr;
  *name = field->name();
  return &scheme.GetReflection()->GetMessage(scheme, field);
}

std::vector<const FieldDescriptor*> SetFields(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

std::string Words(absl::string_view name) {
  return absl::StrReplaceAll(name, {{"_", " "}});
}

std::string NumberText(double value) {
  return value == static_cast<double>(static_cast<int64_t>(value))
             ? absl::StrCat(static_cast<int64_t>(value))
             : plot::ShortNumber(value);
}

// Returns the value of a scalar field; empty for messages and lists.
std::string ScalarText(const Message& message, const FieldDescriptor* field) {
  if (field->is_repeated()) return "";
  const auto* reflection = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberText(reflection->GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return NumberText(reflection->GetFloat(message, field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(reflection->GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(reflection->GetUInt64(message, field));
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(reflection->GetInt32(message, field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(reflection->GetUInt32(message, field));
    default:
      return "";
  }
}

// Returns the value of an enum without the prefix of its type, in words.
std::string EnumText(const Message& message, const FieldDescriptor* field) {
  const auto* value = message.GetReflection()->GetEnum(message, field);
  std::string prefix;
  for (const char c : field->enum_type()->name()) {
    if (absl::ascii_isupper(c) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(c);
  }
  absl::string_view name = value->name();
  if (absl::ConsumePrefix(&name, prefix)) absl::ConsumePrefix(&name, "_");
  return Words(absl::AsciiStrToLower(name));
}

// The default of a parameter in the description; empty if there is none.
std::string DefaultOf(const v1::SchemeDescription* description,
                      absl::string_view name) {
  if (description == nullptr) return "";
  for (const v1::SchemeParameter& parameter : description->parameters()) {
    if (parameter.name() == name) return parameter.default_value();
  }
  return "";
}

// "yarn ×4 of 2048": the factor and the original length of a scaling, and its
// other parameters in words.
std::string GroupText(const Message& group, const std::string& name,
                      const v1::SchemeDescription* description) {
  std::string factor;
  std::string length;
  std::string rest;
  for (const FieldDescriptor* field : SetFields(group)) {
    const std::string value = ScalarText(group, field);
    if (field->name() == "factor") {
      factor = value;
    } else if (field->name() == "original_length" ||
               field->name() == "max_position") {
      length = value;
    } else if (!value.empty()) {
      absl::StrAppend(&rest, " ", Words(field->name()), " ", value);
    }
  }
  if (factor.empty()) factor = DefaultOf(description, name + ".factor");
  if (length.empty()) {
    length = DefaultOf(description, name + ".original_length");
  }
  if (length.empty()) length = DefaultOf(description, name + ".max_position");
  return absl::StrCat(Words(name), factor.empty() ? "" : " \u00d7", factor,
                      length.empty() ? "" : " of ", length, rest);
}

std::string FieldText(const Message& kind, const FieldDescriptor* field,
                      const v1::SchemeDescription* description) {
  if (field->is_repeated()) return absl::StrCat(Words(field->name()), " given");
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const Message& group = kind.GetReflection()->GetMessage(kind, field);
      if (group.GetDescriptor()->name() == "Tensor") {
        return absl::StrCat("given ", Words(field->name()));
      }
      return GroupText(group, field->name(), description);
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return kind.GetReflection()->GetBool(kind, field) ? Words(field->name())
                                                        : "";
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumText(kind, field);
    default:
      return absl::StrCat(Words(field->name()), " ", ScalarText(kind, field));
  }
}

// The label that the user gave; empty if there is none.
std::string LabelOf(const v1::Scheme& scheme) {
  const FieldDescriptor* field =
      v1::Scheme::descriptor()->FindFieldByName("label");
  if (field == nullptr) return "";
  return scheme.GetReflection()->GetString(scheme, field);
}

// Whether the scheme has numbers of its own, so that its seed is not used.
bool HasGivenNumbers(const Message& kind) {
  for (const FieldDescriptor* field : SetFields(kind)) {
    if (field->is_repeated()) return true;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
        field->message_type()->name() == "Tensor") {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string SchemeTitle(const v1::Scheme& scheme,
                        const v1::SchemeDescription* description) {
  std::string name;
  const Message* kind = KindOf(scheme, &name);
  const std::string label = LabelOf(scheme);
  if (!label.empty()) return label;
  if (kind == nullptr) return "scheme";
  std::vector<std::string> parts = {name};
  for (const FieldDescriptor* field : SetFields(*kind)) {
    const std::string text = FieldText(*kind, field, description);
    if (!text.empty()) parts.push_back(text);
  }
  return absl::StrJoin(parts, ", ");
}

std::string SchemeDetails(const v1::Scheme& scheme,
                          const v1::SchemeDescription* description,
                          const SchemeSizes& sizes) {
  std::vector<std::string> parts;
  if (sizes.dim > 0) parts.push_back(absl::StrCat("dim ", sizes.dim));
  if (sizes.head_count > 0) {
    parts.push_back(absl::StrCat(sizes.head_count,
                                 sizes.head_count == 1 ? " head" : " heads"));
  }
  std::string name;
  const Message* kind = KindOf(scheme, &name);
  if (kind != nullptr && description != nullptr) {
    for (const v1::SchemeParameter& parameter : description->parameters()) {
      const std::string& type = parameter.type();
      if (parameter.default_value().empty()) continue;
      if (type != "number" && type != "integer" && type != "seed") continue;
      const FieldDescriptor* field =
          kind->GetDescriptor()->FindFieldByName(parameter.name());
      if (field == nullptr) continue;  // A parameter of a group.
      if (type == "seed" && HasGivenNumbers(*kind)) continue;
      if (kind->GetReflection()->HasField(*kind, field)) continue;
      parts.push_back(absl::StrCat(Words(parameter.name()), " ",
                                   parameter.default_value()));
    }
  }
  return absl::StrJoin(parts, " \u00b7 ");
}

}  // namespace locus::client
