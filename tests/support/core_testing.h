// Helpers for the tests of core.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/attention/attention.h"
#include "core/base/random.h"
#include "core/base/tensor.h"
#include "core/encoding/encode.h"
#include "core/encoding/registry.h"

namespace locus::testing {

// Adds one argument to a set of arguments.
inline Arguments With(absl::string_view name, Arguments::Value value,
                      Arguments arguments = {}) {
  arguments.Set(name, std::move(value));
  return arguments;
}

// Makes the scheme with that name; fails the test if that is not possible.
inline std::unique_ptr<Scheme> MustMake(absl::string_view name,
                                        Arguments arguments = {}) {
  auto scheme = MakeScheme(*FindScheme(name), std::move(arguments));
  EXPECT_TRUE(scheme.ok()) << scheme.status();
  return *std::move(scheme);
}

// Makes a tensor of any floating-point type from doubles, which are rounded.
inline Tensor MakeTensor(DType dtype, const Shape& shape,
                         const std::vector<double>& values) {
  Tensor tensor(dtype, shape);
  EXPECT_EQ(tensor.element_count(), static_cast<int64_t>(values.size()));
  WriteRow(dtype, values.data(), static_cast<int64_t>(values.size()),
           tensor.at(0));
  return tensor;
}

// Makes a tensor of normal random numbers with mean 0, from the stream
// (seed, purpose).
inline Tensor RandomTensor(DType dtype, const Shape& shape, uint64_t seed,
                           absl::string_view purpose, double deviation = 1) {
  std::vector<double> values(*ElementCount(shape));
  RandomStream(seed, purpose).FillNormal(deviation, absl::MakeSpan(values));
  return MakeTensor(dtype, shape, values);
}

// The elements of a tensor as doubles.
inline std::vector<double> Values(const TensorView& tensor) {
  std::vector<double> values(tensor.element_count());
  ReadRow(tensor.dtype, tensor.data, tensor.element_count(), values.data());
  return values;
}
inline std::vector<double> Values(const Tensor& tensor) {
  return Values(tensor.view());
}

// The bytes of a tensor, for bitwise comparison.
inline std::string Bytes(const Tensor& tensor) {
  return {tensor.view().data, static_cast<size_t>(tensor.byte_count())};
}

// The largest absolute difference, divided by the largest finite magnitude of
// the expected values (not divided if that is 0). Infinite unless NaNs and
// infinities are at the same indices in both.
inline double Difference(const std::vector<double>& actual,
                         const std::vector<double>& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double scale = 0;
  for (const double value : expected) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  double worst = 0;
  for (size_t i = 0; i < expected.size() && i < actual.size(); ++i) {
    if (!std::isfinite(expected[i]) || !std::isfinite(actual[i])) {
      const bool same = std::isnan(expected[i]) ? std::isnan(actual[i])
                                                : actual[i] == expected[i];
      if (!same) return std::numeric_limits<double>::infinity();
      continue;
    }
    worst = std::max(worst, std::abs(actual[i] - expected[i]));
  }
  return scale > 0 ? worst / scale : worst;
}

}  // namespace locus::testing
