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

// What is wrong with it, or nothing.
std::string CheckSeed(std::string& text) {
  uint64_t seed = 0;
  if (std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
      absl::SimpleAtoi(text, &seed)) {
    text = absl::StrCat(seed);  // 010 is ten
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
