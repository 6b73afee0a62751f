#include "client/cli/requests/seed_flag.h"

#include <algorithm>
#include <limits>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace locus::client {
namespace {

// Returns an error message, or an empty string if `text` is a seed. Rewrites
// the seed without leading zeros, because CLI11 reads 010 as octal.
std::string CheckSeed(std::string& text) {
  uint64_t seed = 0;
  if (std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
      absl::SimpleAtoi(text, &seed)) {
    text = absl::StrCat(seed);
    return "";
  }
  return absl::StrCat("is ", text, "; must be an integer from 0 to ",
                      std::numeric_limits<uint64_t>::max());
}

}  // namespace

void AddSeedFlag(CLI::App& command, std::optional<uint64_t>& seed,
                 const char* description, const char* group) {
  command.add_option("--seed", seed, description)
      ->type_name("N")
      ->group(group)
      ->transform(CLI::Validator(CheckSeed, ""));
}

}  // namespace locus::client
