// Typed access to the fields of one JSON object.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace locus::client {

// Reads fields of a JSON object and keeps track of the fields that were read,
// so that Unused() can report the others. A null value counts as absent. Where
// a function takes several keys, the first one present is read. The JSON must
// outlive the object. Not thread-safe.
class Fields {
 public:
  using Json = nlohmann::ordered_json;

  Fields(const Json& json, std::string name)
      : json_(json), name_(std::move(name)) {}

  bool Has(const std::string& key) const {
    return json_.contains(key) && !json_[key].is_null();
  }
  bool HasAny(const std::vector<std::string>& keys) const {
    return std::any_of(keys.begin(), keys.end(),
                       [this](const std::string& key) { return Has(key); });
  }
  // Whether the key is present, even with a null value.
  bool Mentions(const std::string& key) const { return json_.contains(key); }
  // Returns the value of the first key that is present, or null. Marks the key
  // as used.
  const Json* Find(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      if (!Has(key)) continue;
      used_.insert(key);
      return &json_[key];
    }
    return nullptr;
  }
  // Returns a value without marking its key as used, or null if absent.
  const Json* Peek(const std::string& key) const {
    return Has(key) ? &json_[key] : nullptr;
  }
  // Reads a number into `*value`, which stays unchanged if no key is present.
  absl::Status Number(const std::vector<std::string>& keys, double* value) {
    const Json* found = Find(keys);
    if (found == nullptr) return absl::OkStatus();
    if (!found->is_number()) return WrongType(keys, "a number");
    *value = found->get<double>();
    return absl::OkStatus();
  }
  absl::Status Number(const std::vector<std::string>& keys,
                      std::optional<double>* value) {
    double number = 0;
    CLIENT_RETURN_IF_ERROR(Number(keys, &number));
    if (HasAny(keys)) *value = number;
    return absl::OkStatus();
  }
  // Same as Number(), for integers up to 2^53.
  absl::Status Integer(const std::vector<std::string>& keys, int64_t* value) {
    double number = static_cast<double>(*value);
    CLIENT_RETURN_IF_ERROR(Number(keys, &number));
    if (number != std::floor(number) || std::abs(number) > 0x1p53) {
      return WrongType(keys, "a whole number");
    }
    *value = static_cast<int64_t>(number);
    return absl::OkStatus();
  }
  // Returns true if the value is the boolean true.
  bool Flag(const std::string& key) {
    const Json* found = Find({key});
    return found != nullptr && found->is_boolean() && found->get<bool>();
  }
  // Reads a string into `*text`, which stays unchanged if no key is present.
  absl::Status Text(const std::vector<std::string>& keys, std::string* text) {
    const Json* found = Find(keys);
    if (found == nullptr) return absl::OkStatus();
    if (!found->is_string()) return WrongType(keys, "a string");
    *text = found->get<std::string>();
    return absl::OkStatus();
  }
  // Marks a key as used.
  void Use(const std::string& key) { used_.insert(key); }

  // Returns the keys that were not read and are not null.
  std::vector<std::string> Unused() const {
    std::vector<std::string> unused;
    for (const auto& [key, value] : json_.items()) {
      if (used_.count(key) == 0 && !value.is_null()) unused.push_back(key);
    }
    return unused;
  }
  // Path of the object within the configuration; empty for the root.
  const std::string& name() const { return name_; }

 private:
  absl::Status WrongType(const std::vector<std::string>& keys,
                         absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        name_, name_.empty() ? "" : ".", keys.front(), " is not ", what));
  }

  const Json& json_;
  const std::string name_;
  std::set<std::string> used_;
};

}  // namespace locus::client
