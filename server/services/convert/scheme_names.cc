#include "server/services/convert/scheme_names.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "server/base/printable.h"
#include "server/base/utf8.h"

namespace locus::server {
namespace {

constexpr int64_t kMaxLabelCharacters = 64;

// One setting of a scheme, as text for its name.
struct Attribute {
  std::string key;
  std::string text;  // such as `base=10000` or `yarn×4`
  bool is_default = false;
  // Whether the setting belongs to another one: to a group, to layers or to
  // random positions. Schemes without that do not differ in this setting.
  bool is_nested = false;
};

// 500000 rather than 5e+05, and at most six digits for fractions.
std::string FormatNumber(double value) {
  constexpr double kMaxWhole = 1e15;
  if (value == std::floor(value) && std::abs(value) < kMaxWhole) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  return absl::StrFormat("%.6g", value);
}

std::string FormatNumbers(const std::vector<double>& values) {
  constexpr size_t kMaxShown = 3;
  std::string text = "[";
  for (size_t n = 0; n < values.size() && n < kMaxShown; ++n) {
    absl::StrAppend(&text, n > 0 ? "," : "", FormatNumber(values[n]));
  }
  return absl::StrCat(text, values.size() > kMaxShown ? ",...]" : "]");
}

std::string FormatArgument(const Parameter& parameter,
                           const Arguments& arguments) {
  const std::string& name = parameter.name;
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      return FormatNumber(arguments.Number(name));
    case ParameterKind::kInteger:
      return absl::StrCat(arguments.Integer(name));
    case ParameterKind::kFlag:
      return arguments.Flag(name) ? "true" : "false";
    case ParameterKind::kChoice:
      return arguments.Choice(name);
    case ParameterKind::kNumbers:
      return FormatNumbers(arguments.Numbers(name));
    case ParameterKind::kTensor:
      return absl::StrJoin(arguments.Tensor(name).shape, "x");
    case ParameterKind::kSeed:
      return absl::StrCat(arguments.Seed(name));
    case ParameterKind::kGroup:
      break;
  }
  return "";
}

// The name of a group with its factor, if it has one: `yarn×4`.
std::string FormatGroup(const std::string& name, const Arguments& arguments) {
  const std::string factor = absl::StrCat(name, ".factor");
  if (!arguments.Has(factor) || arguments.Number(factor) == 1) return name;
  return absl::StrCat(name, "\xc3\x97", FormatNumber(arguments.Number(factor)));
}

bool IsDefault(const Parameter& parameter, const Arguments& arguments) {
  if (!arguments.IsGiven(parameter.name)) return true;
  if (!parameter.default_number.has_value()) return false;
  const double value = *parameter.default_number;
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      return arguments.Number(parameter.name) == value;
    case ParameterKind::kInteger:
      return static_cast<double>(arguments.Integer(parameter.name)) == value;
    case ParameterKind::kFlag:
      return arguments.Flag(parameter.name) == (value != 0);
    default:
      return false;
  }
}

void AddParameters(const ResolvedScheme& resolved,
                   std::vector<Attribute>* attributes) {
  const Arguments& arguments = resolved.arguments;
  for (const Parameter& parameter : resolved.info->parameters) {
    const std::string& name = parameter.name;
    if (!arguments.Has(name)) continue;
    if (parameter.kind == ParameterKind::kGroup) {
      attributes->push_back({name, FormatGroup(name, arguments)});
      continue;
    }
    const size_t dot = name.rfind('.');
    const bool nested = dot != std::string::npos;
    const std::string own = nested ? name.substr(dot + 1) : name;
    // The text of the group contains its factor.
    if (nested && own == "factor") continue;
    attributes->push_back(
        {name, absl::StrCat(own, "=", FormatArgument(parameter, arguments)),
         IsDefault(parameter, arguments), nested});
  }
}

std::vector<Attribute> AttributesOf(const NamedScheme& scheme) {
  std::vector<Attribute> attributes;
  AddParameters(scheme.resolved, &attributes);
  // Layers and random positions are compared among schemes of the same name,
  // such as `rope+none`.
  const auto add = [&](const char* key, auto value, bool is_default) {
    attributes.push_back({absl::StrCat(scheme.name, "/", key),
                          absl::StrCat(key, "=", value), is_default,
                          /*is_nested=*/true});
  };
  if (scheme.period > 0) {
    add("period", scheme.period,
        scheme.period == static_cast<int64_t>(scheme.others.size()) + 1);
    add("window", scheme.window, scheme.window == 0);
  }
  if (scheme.randomization) {
    add("maximum", scheme.randomization->maximum, false);
    add("seed", scheme.randomization->seed, scheme.randomization->seed == 0);
    add("in_tests", scheme.randomizes_tests ? "true" : "false",
        !scheme.randomizes_tests);
  }
  return attributes;
}

// A scheme without a label.
struct Unlabelled {
  NamedScheme* scheme;
  std::vector<Attribute> attributes;
};

// The keys of the attributes in which schemes of one kind differ.
std::set<std::string> DifferingKeys(const std::vector<Unlabelled>& group) {
  std::map<std::string, std::map<std::string, size_t>> texts;
  std::set<std::string> nested;
  for (const Unlabelled& member : group) {
    for (const Attribute& attribute : member.attributes) {
      ++texts[attribute.key][attribute.text];
      if (attribute.is_nested) nested.insert(attribute.key);
    }
  }
  std::set<std::string> differing;
  for (const auto& [key, counts] : texts) {
    const bool missing =
        nested.count(key) == 0 && counts.begin()->second < group.size();
    if (counts.size() > 1 || missing) differing.insert(key);
  }
  return differing;
}

// The name of the kind with the differing attributes, either all of them or
// only those that are not at their default.
std::string NameWith(const Unlabelled& member,
                     const std::set<std::string>& differing, bool all) {
  std::string name = member.scheme->name;
  for (const Attribute& attribute : member.attributes) {
    if (differing.count(attribute.key) == 0) continue;
    if (all || !attribute.is_default) {
      absl::StrAppend(&name, " ", attribute.text);
    }
  }
  return name;
}

// Calls change(n) for every name that occurs more than once.
template <typename Change>
void ForDuplicates(const std::vector<std::string>& names, Change change) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name];
  for (size_t n = 0; n < names.size(); ++n) {
    if (counts[names[n]] > 1) change(n);
  }
}

// Names the schemes of one kind.
void NameGroup(std::vector<Unlabelled> group) {
  if (group.size() < 2) return;
  const std::set<std::string> differing = DifferingKeys(group);
  std::vector<std::string> names;
  for (const Unlabelled& member : group) {
    std::string name = NameWith(member, differing, /*all=*/false);
    if (name == member.scheme->name) {
      name = NameWith(member, differing, /*all=*/true);
    }
    names.push_back(std::move(name));
  }
  std::vector<std::string> longer = names;
  ForDuplicates(names, [&](size_t n) {
    longer[n] = NameWith(group[n], differing, /*all=*/true);
  });
  std::vector<std::string> unique = longer;
  std::map<std::string, int> numbers;
  ForDuplicates(longer, [&](size_t n) {
    absl::StrAppend(&unique[n], " (", ++numbers[longer[n]], ")");
  });
  for (size_t n = 0; n < group.size(); ++n) {
    group[n].scheme->name = unique[n];
  }
}

absl::Status CheckLabel(const std::string& label) {
  int64_t count = 0;
  for (absl::string_view rest = label; !rest.empty(); ++count) {
    const size_t length = Utf8Length(rest);
    if (length == 0 || IsDeceptive(CodePointOf(rest.substr(0, length)))) {
      return InvalidField(
          "label", absl::StrCat("is '", Printable(label, 80),
                                "'; must be UTF-8 without control characters"));
    }
    rest.remove_prefix(length);
  }
  if (count <= kMaxLabelCharacters) return absl::OkStatus();
  return InvalidField("label",
                      absl::StrCat("has ", count, " characters; at most ",
                                   kMaxLabelCharacters, " are allowed"));
}

}  // namespace

absl::Status NameSchemes(std::vector<NamedScheme>* schemes) {
  std::map<absl::string_view, std::vector<Unlabelled>> groups;
  for (size_t n = 0; n < schemes->size(); ++n) {
    NamedScheme& scheme = (*schemes)[n];
    if (scheme.label.empty()) {
      groups[scheme.resolved.info->name].push_back(
          {&scheme, AttributesOf(scheme)});
      continue;
    }
    const absl::Status checked = CheckLabel(scheme.label);
    if (!checked.ok()) {
      return Within(absl::StrCat("schemes[", n, "]"), checked);
    }
    scheme.name = scheme.label;
  }
  for (auto& [kind, group] : groups) NameGroup(std::move(group));
  std::map<std::string, size_t> places;
  for (size_t n = 0; n < schemes->size(); ++n) {
    const auto [found, is_new] = places.try_emplace((*schemes)[n].name, n);
    if (is_new) continue;
    // Names of schemes without labels are unique, so one of the two has one.
    const size_t other = found->second;
    const size_t labelled = (*schemes)[n].label.empty() ? other : n;
    return InvalidField(
        absl::StrCat("schemes[", labelled, "].label"),
        absl::StrCat("is '", (*schemes)[n].name,
                     "', which is also the name of ", "schemes[",
                     labelled == n ? other : n, "]; names must be unique"));
  }
  return absl::OkStatus();
}

}  // namespace locus::server
