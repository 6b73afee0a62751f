// Declared parameters of schemes, and the arguments that a caller passes.
//
// A scheme declares its parameters once. The declaration provides the listing,
// the defaults, the range checks and the mapping to the protocol (a parameter
// has the name of its field), so that a scheme's own code reads only valid
// values.
//
// Parameters that belong together form a group: `yarn` of RoPE is a group, and
// its parameters are named `yarn.factor` and so on. A group has no default, and
// the parameters of a group that is not set have no value.
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
  kFlag,     // bool, default false unless declared otherwise
  kChoice,   // one of several names, default the first
  kNumbers,  // list of doubles, default empty
  kTensor,   // floating point, no default
  kSeed,     // uint64_t, default 0
  kGroup,    // set or unset; its parameters are declared as name.parameter
};

// Declaration of one parameter.
struct Parameter {
  ParameterKind kind;
  std::string name;
  absl::string_view description;
  // Default of numbers and integers, if there is one. For flags: 1 if the
  // default is true.
  std::optional<double> default_number = std::nullopt;
  // Closed range of numbers, of integers (which must declare one) and of the
  // elements of lists.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  // Names of a choice: the protocol's enum values without their prefix.
  std::vector<absl::string_view> choices = {};
  // Category of a group, such as "scaling". At most one group of a category may
  // be set.
  absl::string_view category = "";

  // "number", "integer", ...
  absl::string_view KindName() const;
  // Text form of the allowed values, such as "from 1 to 4096".
  std::string Range() const;
  // Text form of the default; empty if there is none.
  std::string Default() const;
};

// The values that a caller passed, by parameter name. Not thread-safe while it
// is being modified.
class Arguments {
 public:
  using Value = std::variant<double, int64_t, bool, std::string, uint64_t,
                             std::vector<double>, TensorView>;

  // Sets a parameter. The value of a group is `true`.
  void Set(absl::string_view name, Value value);
  // Whether the parameter has a value, which may be its default after Check().
  bool Has(absl::string_view name) const;
  // Whether the parameter was set explicitly, not to its default by Check().
  bool IsGiven(absl::string_view name) const;
  // The parameters of a group, without the group's name as prefix.
  Arguments Within(absl::string_view group) const;
  // Sets a group and its parameters, which are named without prefix.
  void SetWithin(absl::string_view group, const Arguments& arguments);

  // Checks that every value is declared, has the declared kind and is in range,
  // then sets the defaults. INVALID_ARGUMENT names the parameter.
  absl::Status Check(const std::vector<Parameter>& declared);

  // Values, available after Check(). The parameter must be declared with the
  // kind of the function. Number(), Integer() and Tensor() need a value or a
  // default.
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
  // Whether the parameter belongs to a group that is not set.
  bool IsInUnsetGroup(const std::string& name) const;

  std::map<std::string, Value> values_;
  std::set<std::string> defaults_;  // names that Check() set
};

}  // namespace locus
