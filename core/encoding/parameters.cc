#include "core/encoding/parameters.h"

#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"

namespace locus {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Checks the range of a number. T is double or int64_t, so that the message
// shows the value as the caller wrote it.
template <typename T>
absl::Status CheckNumber(const Parameter& parameter, T value) {
  const double number = static_cast<double>(value);
  if (std::isfinite(number) && number >= parameter.min &&
      number <= parameter.max) {
    return absl::OkStatus();
  }
  return InvalidField(parameter.name, absl::StrCat("is ", value, "; must be ",
                                                   parameter.Range()));
}

absl::Status CheckValue(const Parameter& parameter,
                        const Arguments::Value& value) {
  const absl::Status wrong_kind = InvalidField(
      parameter.name, absl::StrCat("must be a ", parameter.KindName()));
  switch (parameter.kind) {
    case ParameterKind::kNumber: {
      const auto* number = std::get_if<double>(&value);
      return number == nullptr ? wrong_kind : CheckNumber(parameter, *number);
    }
    case ParameterKind::kInteger: {
      const auto* integer = std::get_if<int64_t>(&value);
      if (integer == nullptr) return wrong_kind;
      return CheckNumber(parameter, *integer);
    }
    case ParameterKind::kFlag:
    case ParameterKind::kGroup:
      return std::holds_alternative<bool>(value) ? absl::OkStatus()
                                                 : wrong_kind;
    case ParameterKind::kChoice: {
      const auto* choice = std::get_if<std::string>(&value);
      if (choice == nullptr) return wrong_kind;
      if (absl::c_linear_search(parameter.choices, *choice)) {
        return absl::OkStatus();
      }
      return InvalidField(
          parameter.name,
          absl::StrCat("is ", *choice, "; must be ", parameter.Range()));
    }
    case ParameterKind::kNumbers: {
      const auto* numbers = std::get_if<std::vector<double>>(&value);
      if (numbers == nullptr) return wrong_kind;
      for (size_t i = 0; i < numbers->size(); ++i) {
        const double number = (*numbers)[i];
        if (std::isfinite(number) && number >= parameter.min &&
            number <= parameter.max) {
          continue;
        }
        return InvalidField(
            absl::StrCat(parameter.name, "[", i, "]"),
            absl::StrCat("is ", number, "; must be ", parameter.Range()));
      }
      return absl::OkStatus();
    }
    case ParameterKind::kTensor: {
      const auto* tensor = std::get_if<TensorView>(&value);
      if (tensor == nullptr) return wrong_kind;
      if (IsFloatingPoint(tensor->dtype)) return absl::OkStatus();
      return InvalidField(absl::StrCat(parameter.name, ".dtype"),
                          absl::StrCat("is ", NameOf(tensor->dtype),
                                       "; must be floating point"));
    }
    case ParameterKind::kSeed:
      return std::holds_alternative<uint64_t>(value) ? absl::OkStatus()
                                                     : wrong_kind;
  }
  return wrong_kind;
}

std::optional<Arguments::Value> DefaultValue(const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      if (parameter.default_number) return *parameter.default_number;
      return std::nullopt;
    case ParameterKind::kInteger:
      if (parameter.default_number) {
        return static_cast<int64_t>(*parameter.default_number);
      }
      return std::nullopt;
    case ParameterKind::kFlag:
      return parameter.default_number.value_or(0) != 0;
    case ParameterKind::kChoice:
      return std::string(parameter.choices.front());
    case ParameterKind::kNumbers:
      return std::vector<double>();
    case ParameterKind::kTensor:
    case ParameterKind::kGroup:
      return std::nullopt;
    case ParameterKind::kSeed:
      return uint64_t{0};
  }
  return std::nullopt;
}

}  // namespace

absl::string_view Parameter::KindName() const {
  switch (kind) {
    case ParameterKind::kNumber:
      return "number";
    case ParameterKind::kInteger:
      return "integer";
    case ParameterKind::kFlag:
      return "flag";
    case ParameterKind::kChoice:
      return "choice";
    case ParameterKind::kNumbers:
      return "numbers";
    case ParameterKind::kTensor:
      return "tensor";
    case ParameterKind::kSeed:
      return "seed";
    case ParameterKind::kGroup:
      return "group";
  }
  return "";
}

std::string Parameter::Range() const {
  switch (kind) {
    case ParameterKind::kNumber:
    case ParameterKind::kNumbers:
    case ParameterKind::kInteger:
      if (kind == ParameterKind::kInteger) {
        return absl::StrCat("from ", static_cast<int64_t>(min), " to ",
                            static_cast<int64_t>(max));
      }
      if (min == -kInfinity && max == kInfinity) return "finite";
      if (max == kInfinity) return absl::StrCat("finite and at least ", min);
      return absl::StrCat("from ", min, " to ", max);
    case ParameterKind::kFlag:
      return "true or false";
    case ParameterKind::kChoice:
      return absl::StrCat("one of ", absl::StrJoin(choices, ", "));
    case ParameterKind::kTensor:
      return "floating point";
    case ParameterKind::kSeed:
      return "from 0 to 2^64 - 1";
    case ParameterKind::kGroup:
      return absl::StrCat("at most one ", category);
  }
  return "";
}

std::string Parameter::Default() const {
  switch (kind) {
    case ParameterKind::kNumber:
    case ParameterKind::kInteger:
      return default_number ? absl::StrCat(*default_number) : "";
    case ParameterKind::kFlag:
      return default_number.value_or(0) != 0 ? "true" : "false";
    case ParameterKind::kChoice:
      return std::string(choices.front());
    case ParameterKind::kNumbers:
    case ParameterKind::kTensor:
    case ParameterKind::kGroup:
      return "";
    case ParameterKind::kSeed:
      return "0";
  }
  return "";
}

void Arguments::Set(absl::string_view name, Value value) {
  values_.insert_or_assign(std::string(name), std::move(value));
  defaults_.erase(std::string(name));
}

bool Arguments::Has(absl::string_view name) const {
  return values_.count(std::string(name)) > 0;
}

bool Arguments::IsGiven(absl::string_view name) const {
  return Has(name) && defaults_.count(std::string(name)) == 0;
}

Arguments Arguments::Within(absl::string_view group) const {
  const std::string prefix = absl::StrCat(group, ".");
  Arguments within;
  for (const auto& [name, value] : values_) {
    if (absl::StartsWith(name, prefix)) {
      within.Set(name.substr(prefix.size()), value);
    }
  }
  return within;
}

void Arguments::SetWithin(absl::string_view group, const Arguments& arguments) {
  Set(group, true);
  for (const auto& [name, value] : arguments.values_) {
    Set(absl::StrCat(group, ".", name), value);
  }
}

absl::Status Arguments::CheckGroups(
    const std::vector<Parameter>& declared) const {
  const Parameter* chosen = nullptr;
  for (const Parameter& parameter : declared) {
    if (parameter.kind != ParameterKind::kGroup || !Has(parameter.name)) {
      continue;
    }
    if (chosen != nullptr && chosen->category == parameter.category) {
      return InvalidField(
          parameter.name,
          absl::StrCat("is set beside ", chosen->name, "; at most one ",
                       chosen->category, " can be"));
    }
    chosen = &parameter;
  }
  return absl::OkStatus();
}

bool Arguments::IsInUnsetGroup(const std::string& name) const {
  const size_t dot = name.find('.');
  return dot != std::string::npos && !Has(name.substr(0, dot));
}

absl::Status Arguments::Check(const std::vector<Parameter>& declared) {
  for (const auto& [name, value] : values_) {
    const auto parameter = absl::c_find_if(
        declared,
        [&name = name](const Parameter& p) { return p.name == name; });
    if (parameter == declared.end()) {
      return InvalidField(name, "is not a parameter of this scheme");
    }
    LOCUS_RETURN_IF_ERROR(CheckValue(*parameter, value));
  }
  LOCUS_RETURN_IF_ERROR(CheckGroups(declared));
  for (const Parameter& parameter : declared) {
    if (Has(parameter.name) || IsInUnsetGroup(parameter.name)) continue;
    if (auto value = DefaultValue(parameter)) {
      Set(parameter.name, *value);
      defaults_.insert(parameter.name);
    }
  }
  return absl::OkStatus();
}

template <typename T>
const T& Arguments::Get(absl::string_view name) const {
  return std::get<T>(values_.at(std::string(name)));
}

double Arguments::Number(absl::string_view name) const {
  return Get<double>(name);
}
int64_t Arguments::Integer(absl::string_view name) const {
  return Get<int64_t>(name);
}
bool Arguments::Flag(absl::string_view name) const { return Get<bool>(name); }
const std::string& Arguments::Choice(absl::string_view name) const {
  return Get<std::string>(name);
}
const std::vector<double>& Arguments::Numbers(absl::string_view name) const {
  return Get<std::vector<double>>(name);
}
const TensorView& Arguments::Tensor(absl::string_view name) const {
  return Get<TensorView>(name);
}
uint64_t Arguments::Seed(absl::string_view name) const {
  return Get<uint64_t>(name);
}

}  // namespace locus
