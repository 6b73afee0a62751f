#include "client/cli/requests/scheme_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/suggest.h"
#include "core/encoding/registry.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::OneofDescriptor;

// Names from papers and libraries that cannot be derived from the proto.
constexpr std::pair<absl::string_view, absl::string_view> kSynonyms[] = {
    {"nope", "none"},
    {"sin", "sinusoidal"},
    {"sine", "sinusoidal"},
    {"absolute", "learned"},  // position_embedding_type of BERT
    {"rotary", "rope"},
    {"pi", "linear"},  // position interpolation
    {"position_interpolation", "linear"},
    {"ntk_aware", "ntk"},
    {"su", "longrope"},  // the former name in the transformers library
    {"p_rope", "proportional"},
};

std::string Normalized(absl::string_view name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"-", "_"}});
}

const OneofDescriptor& Kinds() {
  return *v1::Scheme::descriptor()->FindOneofByName("kind");
}

// The groups of a scheme: the messages of a oneof, except tensors.
std::vector<const FieldDescriptor*> GroupsOf(const FieldDescriptor& kind) {
  std::vector<const FieldDescriptor*> groups;
  const Descriptor& message = *kind.message_type();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    if (field->containing_oneof() != nullptr &&
        field->message_type() != nullptr &&
        field->message_type() != v1::Tensor::descriptor()) {
      groups.push_back(field);
    }
  }
  return groups;
}

// The common prefix of all values of an enum. By convention, the first value is
// named <PREFIX>UNSPECIFIED.
std::string PrefixOf(const EnumDescriptor& type) {
  return std::string(absl::StripSuffix(type.value(0)->name(), "UNSPECIFIED"));
}

// Whether `name` is the whole of `full`, or the part before its first
// underscore.
bool IsNameOf(absl::string_view name, const std::string& full) {
  return name == full ||
         absl::StrCat(name, "_") ==
             full.substr(0, std::min(full.size(), name.size() + 1));
}

// A number for the example of a parameter: its default, except that a factor
// of 1 would have no effect.
std::string ExampleValue(const Parameter& parameter) {
  if (absl::EndsWith(parameter.name, "factor") && parameter.max >= 4) {
    return "4";
  }
  return parameter.Default();
}

// The first parameter of that kind with a default outside of all groups; null
// if there is none.
const Parameter* FirstOf(const SchemeInfo& info,
                         std::initializer_list<ParameterKind> kinds) {
  for (const Parameter& parameter : info.parameters) {
    if (std::find(kinds.begin(), kinds.end(), parameter.kind) != kinds.end() &&
        !absl::StrContains(parameter.name, '.') &&
        !parameter.Default().empty()) {
      return &parameter;
    }
  }
  return nullptr;
}

// The first number inside the group; if `group` is empty, inside any group.
const Parameter* FirstInGroup(const SchemeInfo& info, absl::string_view group) {
  for (const Parameter& parameter : info.parameters) {
    const std::pair<absl::string_view, absl::string_view> path =
        absl::StrSplit(parameter.name, absl::MaxSplits('.', 1));
    if (parameter.kind == ParameterKind::kNumber && !path.second.empty() &&
        (group.empty() || path.first == group)) {
      return &parameter;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<NamedScheme> FindNamedScheme(absl::string_view name) {
  std::string wanted = Normalized(name);
  for (const auto& [synonym, meaning] : kSynonyms) {
    if (wanted == synonym) wanted = std::string(meaning);
  }
  for (int i = 0; i < Kinds().field_count(); ++i) {
    const FieldDescriptor* kind = Kinds().field(i);
    if (IsNameOf(wanted, kind->name())) return NamedScheme{kind, nullptr};
    for (const FieldDescriptor* group : GroupsOf(*kind)) {
      if (IsNameOf(wanted, group->name())) return NamedScheme{kind, group};
    }
  }
  return std::nullopt;
}

const FieldDescriptor* FindFieldByAnyCase(const Descriptor& message,
                                          absl::string_view name) {
  return message.FindFieldByName(Normalized(name));
}

std::vector<std::string> SchemeNames() {
  std::vector<std::string> names;
  for (int i = 0; i < Kinds().field_count(); ++i) {
    names.push_back(Kinds().field(i)->name());
  }
  return names;
}

std::vector<std::string> SchemeGroupNames() {
  std::vector<std::string> names;
  for (int i = 0; i < Kinds().field_count(); ++i) {
    for (const FieldDescriptor* group : GroupsOf(*Kinds().field(i))) {
      names.push_back(group->name());
    }
  }
  return names;
}

std::vector<std::string> FieldNames(const Descriptor& message) {
  std::vector<std::string> names;
  names.reserve(message.field_count());
  for (int i = 0; i < message.field_count(); ++i) {
    names.push_back(message.field(i)->name());
  }
  return names;
}

const EnumValueDescriptor* FindChoice(const EnumDescriptor& type,
                                      absl::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(Normalized(name));
  const EnumValueDescriptor* value = type.FindValueByName(upper);
  if (value != nullptr) return value;
  return type.FindValueByName(absl::StrCat(PrefixOf(type), upper));
}

std::string UnknownChoiceMessage(const FieldDescriptor& field,
                                 absl::string_view name) {
  const EnumDescriptor& type = *field.enum_type();
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i) {
    names.emplace_back(
        absl::StripPrefix(type.value(i)->name(), PrefixOf(type)));
  }
  return absl::StrCat(field.name(), " has no choice \"", name, "\"",
                      DidYouMean(absl::AsciiStrToUpper(name), names),
                      " (choices: ", absl::StrJoin(names, ", "), ")");
}

std::string SchemeExample(absl::string_view scheme, absl::string_view group) {
  const SchemeInfo* info = FindScheme(scheme);
  if (info == nullptr) return "";
  std::vector<std::string> parts;
  if (const Parameter* number =
          FirstOf(*info, {ParameterKind::kNumber, ParameterKind::kInteger})) {
    parts.push_back(absl::StrCat(number->name, "=", ExampleValue(*number)));
  }
  if (const Parameter* choice = FirstOf(*info, {ParameterKind::kChoice})) {
    parts.push_back(absl::StrCat(
        choice->name, "=", absl::AsciiStrToLower(choice->choices.back())));
  }
  if (const Parameter* nested = FirstInGroup(*info, group)) {
    parts.push_back(absl::StrCat(nested->name, "=", ExampleValue(*nested)));
  }
  if (parts.empty()) {
    if (const Parameter* flag = FirstOf(*info, {ParameterKind::kFlag})) {
      parts.push_back(absl::StrCat(flag->name, "=true"));
    }
  }
  return absl::StrCat(scheme, parts.empty() ? "" : ":",
                      absl::StrJoin(parts, ","));
}

}  // namespace locus::client
