#include "client/cli/support/parser_errors.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/encoding/scheme.h"

namespace locus::client {
namespace {

struct IntegerRange {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};

// The range of an option. The sizes of heads have limits in every call.
IntegerRange RangeOf(const CLI::Option& option) {
  if (option.check_lname("dim")) return {1, kMaxDim};
  if (option.check_lname("heads")) return {1, kMaxHeadCount};
  return {};
}

// Returns an error message, or an empty string if `text` is an integer in the
// range. Rewrites the integer without leading zeros.
std::string CheckInteger(IntegerRange range, std::string& text) {
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= range.min &&
      value <= range.max) {
    text = absl::StrCat(value);
    return "";
  }
  return absl::StrCat("is ", text, "; must be an integer from ", range.min,
                      " to ", range.max);
}

std::string CheckNumber(std::string& text) {
  double value = 0;
  if (absl::SimpleAtod(text, &value)) return "";
  return absl::StrCat("is ", text, "; must be a number");
}

}  // namespace

void CheckNumberFlags(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    // Seeds have 64 bits without a sign, and a check of their own.
    if (option->check_lname("seed")) continue;
    if (option->get_type_name() == "N") {
      option->transform(CLI::Validator(
          [range = RangeOf(*option)](std::string& text) {
            return CheckInteger(range, text);
          },
          ""));
    } else if (option->get_type_name() == "X") {
      option->transform(CLI::Validator(CheckNumber, ""));
    }
  }
  for (CLI::App* const command : app.get_subcommands({})) {
    CheckNumberFlags(*command);
  }
}

std::string ParserErrorText(absl::string_view what) {
  if (absl::ConsumePrefix(&what, "Could not convert: ")) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(what, absl::MaxSplits(" = ", 1));
    return absl::StrCat(parts.first, ": is ", parts.second,
                        "; must be a list of numbers, such as 1,2,3");
  }
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(what, absl::MaxSplits(" excludes ", 1));
  if (!sides.second.empty() && !absl::StrContains(sides.first, ' ')) {
    return absl::StrCat(sides.first, " and ", sides.second,
                        " exclude each other; give one of them");
  }
  const std::pair<absl::string_view, absl::string_view> named =
      absl::StrSplit(what, absl::MaxSplits(": ", 1));
  absl::string_view rest = named.second;
  if (absl::StartsWith(rest, "At Most 1 required")) {
    return absl::StrCat(named.first, ": may be given only once");
  }
  if (absl::ConsumePrefix(&rest, "1 required ") &&
      absl::ConsumeSuffix(&rest, " missing")) {
    return absl::StrCat(named.first, ": needs a value (", rest, ")");
  }
  return std::string(what);
}

}  // namespace locus::client
