// Helpers of the property tests.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/string_view.h"
#include "core/properties/properties.h"
#include "tests/support/core_testing.h"

namespace locus::testing {

// Returns the result of `property`; the test fails if there is none.
inline const PropertyResult& Find(const std::vector<PropertyResult>& results,
                                  absl::string_view property) {
  static const PropertyResult* const none = new PropertyResult();
  for (const PropertyResult& result : results) {
    if (result.property == property) return result;
  }
  ADD_FAILURE() << property << " was not checked";
  return *none;
}

inline bool Has(const std::vector<PropertyResult>& results,
                absl::string_view property) {
  return std::any_of(results.begin(), results.end(), [&](const auto& result) {
    return result.property == property;
  });
}

// Checks all properties of a registered scheme against its promises.
inline std::vector<PropertyResult> Check(absl::string_view name,
                                         Arguments arguments = {}) {
  return *CheckProperties(*MustMake(name, std::move(arguments)),
                          FindScheme(name)->promises, CancellationCheck());
}

inline PropertyResult CheckOne(absl::string_view name,
                               absl::string_view property,
                               Arguments arguments = {}) {
  const auto results = Check(name, std::move(arguments));
  return Find(results, property);
}

// Expects that a scheme keeps its promises with these parameters.
inline void ExpectPromisesKept(absl::string_view name,
                               const Arguments& arguments) {
  for (const PropertyResult& result : Check(name, arguments)) {
    EXPECT_TRUE(result.as_promised)
        << result.property << ": " << result.worked_case;
  }
}

}  // namespace locus::testing
