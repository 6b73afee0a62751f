#include "client/cli/render/comparison_names.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/requests/scheme_text.h"
#include "google/protobuf/text_format.h"

namespace locus::client {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// One parameter that is set.
struct SetParameter {
  // Such as `base` or `yarn.original_length`.
  std::string key;
  // Such as `base=500000` or `yarn×4`.
  std::string text;
  // Whether the parameter belongs to a group, such as yarn.
  bool is_nested = false;
};

// 500000 rather than 5e+05.
std::string PlainNumber(double value) {
  constexpr double kMaxWhole = 1e15;
  return value == std::floor(value) && std::abs(value) < kMaxWhole
             ? absl::StrCat(static_cast<int64_t>(value))
             : absl::StrCat(value);
}

std::string ValueText(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    return absl::StrCat(reflection.FieldSize(message, &field), " values");
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    return PlainNumber(reflection.GetDouble(message, &field));
  }
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, &field, -1,
                                                        &text);
  if (field.enum_type() == nullptr) return text;
  // By convention, the first value is named <PREFIX>UNSPECIFIED.
  return std::string(absl::StripPrefix(
      text,
      absl::StripSuffix(field.enum_type()->value(0)->name(), "UNSPECIFIED")));
}

// The name of a group with its factor, if it has one: `yarn×4`.
std::string GroupText(const Message& group, const std::string& name) {
  const FieldDescriptor* factor =
      group.GetDescriptor()->FindFieldByName("factor");
  if (factor == nullptr || !group.GetReflection()->HasField(group, factor)) {
    return name;
  }
  return absl::StrCat(name, "\xc3\x97", ValueText(group, *factor));
}

// Adds the parameters of a scheme's message, and of its groups below `prefix`.
void AddSetParameters(const Message& message, const std::string& prefix,
                      std::vector<SetParameter>& parameters) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string key = absl::StrCat(prefix, field->name());
    const bool is_nested = !prefix.empty();
    if (field->message_type() == nullptr || field->is_repeated()) {
      if (is_nested && field->name() == "factor") continue;
      parameters.push_back(
          {key, absl::StrCat(field->name(), "=", ValueText(message, *field)),
           is_nested});
    } else if (field->message_type() == v1::Tensor::descriptor()) {
      parameters.push_back({key, field->name(), is_nested});
    } else {
      const Message& group =
          message.GetReflection()->GetMessage(message, field);
      parameters.push_back({key, GroupText(group, field->name()), is_nested});
      AddSetParameters(group, absl::StrCat(key, "."), parameters);
    }
  }
}

std::vector<SetParameter> SetParametersOf(const v1::Scheme& scheme) {
  std::vector<SetParameter> parameters;
  const Reflection& reflection = *v1::Scheme::GetReflection();
  const FieldDescriptor* kind = reflection.GetOneofFieldDescriptor(
      scheme, v1::Scheme::descriptor()->FindOneofByName("kind"));
  if (kind != nullptr) {
    AddSetParameters(reflection.GetMessage(scheme, kind), "", parameters);
  }
  if (scheme.has_randomized()) {
    parameters.push_back({"randomized", "randomized"});
  }
  return parameters;
}

// Schemes of one kind, by their index.
using KindGroup = std::map<size_t, std::vector<SetParameter>>;

// The parameters in which the schemes differ. A parameter of a group counts
// only if two schemes have different values of it, because the name of the
// group already tells schemes with and without it apart.
std::set<std::string> DifferingParameters(const KindGroup& group) {
  std::map<std::string, std::set<std::string>> texts;
  std::map<std::string, size_t> counts;
  std::set<std::string> nested;
  for (const auto& [index, parameters] : group) {
    for (const SetParameter& parameter : parameters) {
      texts[parameter.key].insert(parameter.text);
      ++counts[parameter.key];
      if (parameter.is_nested) nested.insert(parameter.key);
    }
  }
  std::set<std::string> differing;
  for (const auto& [key, values] : texts) {
    const bool is_missing_somewhere =
        nested.count(key) == 0 && counts[key] < group.size();
    if (values.size() > 1 || is_missing_somewhere) differing.insert(key);
  }
  return differing;
}

// " base=10000" for the parameters that differ and are at their default here.
std::string DefaultsText(const std::string& kind,
                         const std::set<std::string>& differing,
                         const v1::ListSchemesResponse& described) {
  std::string text;
  for (const v1::SchemeDescription& scheme : described.schemes()) {
    if (scheme.name() != kind) continue;
    for (const v1::SchemeParameter& parameter : scheme.parameters()) {
      if (differing.count(parameter.name()) == 0 ||
          parameter.default_value().empty()) {
        continue;
      }
      absl::StrAppend(&text, " ", parameter.name(), "=",
                      parameter.default_value());
    }
  }
  return text;
}

// The label of a scheme; empty if it has none.
std::string LabelOf(const v1::Scheme& scheme) {
  const FieldDescriptor* label =
      v1::Scheme::descriptor()->FindFieldByName("label");
  return label == nullptr
             ? ""
             : v1::Scheme::GetReflection()->GetString(scheme, label);
}

// Numbers equal names: "rope (1)", "rope (2)".
void MakeUnique(std::vector<std::string>& names) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name];
  std::map<std::string, int> used;
  for (std::string& name : names) {
    if (counts[name] < 2) continue;
    const int number = ++used[name];
    absl::StrAppend(&name, " (", number, ")");
  }
}

}  // namespace

std::vector<std::string> ComparisonNames(
    const std::vector<NamedSource>& sources,
    const v1::ListSchemesResponse& described) {
  std::vector<std::string> names(sources.size());
  std::map<std::string, KindGroup> groups;
  for (size_t i = 0; i < sources.size(); ++i) {
    names[i] = LabelOf(*sources[i].scheme);
    if (names[i].empty()) {
      names[i] = std::string(absl::StripSuffix(sources[i].file_name, ".json"));
    }
    if (!names[i].empty()) continue;
    names[i] = SchemeName(*sources[i].scheme);
    groups[names[i]].emplace(i, SetParametersOf(*sources[i].scheme));
  }
  for (const auto& [kind, group] : groups) {
    const std::set<std::string> differing = DifferingParameters(group);
    for (const auto& [index, parameters] : group) {
      for (const SetParameter& parameter : parameters) {
        if (differing.count(parameter.key) > 0) {
          absl::StrAppend(&names[index], " ", parameter.text);
        }
      }
      if (names[index] == kind) {
        names[index] += DefaultsText(kind, differing, described);
      }
    }
  }
  MakeUnique(names);
  return names;
}

}  // namespace locus::client
