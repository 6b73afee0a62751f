// What a scheme can be told, and what it was told.
//
// A scheme declares its parameters once. From the declaration follow the
// listing, the defaults, the checks of ranges, and the agreement with the
// contract (a parameter has the name of its field), so that a scheme's own code
// reads values that are already right.
//
// Parameters that belong together are a group: `yarn` of RoPE is one, and its
// parameters are called `yarn.factor` and so on. A group has no default; one
// that is not set leaves its parameters without a value.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/tensor.h"

namespace locus {

enum class ParameterKind {
  kNumber,   // double
  kInteger,  // int64_t
  kFlag,     // bool, default false unless said
  kChoice,   // one of a few names, default the first
  kNumbers,  // list of doubles, default empty
  kTensor,   // floating point, no default
  kSeed,     // uint64_t, default 0
  kGroup,    // set or not; its parameters are declared as name.parameter
};

struct Parameter {
  ParameterKind kind;
  std::string name;
  absl::string_view description;
  // Numbers and integers: the default, if there is one, and the closed range,
  // which integers always state. Lists: the range of each of their numbers.
  // Flags: 1 if the default is true.
  std::optional<double> default_number = std::nullopt;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  // Choices: the names, as the contract's enum values end.
  std::vector<absl::string_view> choices = {};
  // Groups: what they are kinds of; at most one of a kind is set.
  absl::string_view kind_of = "";

  // "number", "integer", ...
  absl::string_view KindName() const;
  // What is allowed, in words.
  std::string Range() const;
  // The default in text form; empty if there is none.
  std::string Default() const;
};

// The values a caller set, by parameter name.
class Arguments {
 public:
  using Value = std::variant<double, int64_t, bool, std::string, uint64_t,
                             std::vector<double>, TensorView>;

  // A group is set to true.
  void Set(absl::string_view name, Value value);
  bool Has(absl::string_view name) const;
  // Whether a caller set it, rather than Check.
  bool IsGiven(absl::string_view name) const;
  // The parameters of a group, by their own names.
  Arguments Within(absl::string_view group) const;
  // Sets a group and such parameters of it.
  void SetWithin(absl::string_view group, const Arguments& arguments);

  // OK if every value is declared, of its kind and in its range; otherwise
  // INVALID_ARGUMENT that names the parameter. Takes over the defaults.
  absl::Status Check(const std::vector<Parameter>& declared);

  // Values after Check. Each parameter read must have been declared as such;
  // Number, Integer and Tensor need a value or a default.
  double Number(absl::string_view name) const;
  int64_t Integer(absl::string_view name) const;
  bool Flag(absl::string_view name) const;
  const std::string& Choice(absl::string_view name) const;
  const std::vector<double>& Numbers(absl::string_view name) const;
  const TensorView& Tensor(absl::string_view name) const;
  uint64_t Seed(absl::string_view name) const;

 private:
  template <typename T>
  const T& Get(absl::string_view name) const;
  absl::Status CheckGroups(const std::vector<Parameter>& declared) const;
  // Whether it belongs to a group that is not set.
  bool IsLeftOut(const std::string& name) const;

  std::map<std::string, Value> values_;
  std::set<std::string> defaults_;
};

}  // namespace locus
