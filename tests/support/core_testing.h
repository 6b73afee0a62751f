// What the tests of core share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/attention/attention.h"
#include "core/base/random.h"
#include "core/base/tensor.h"
#include "core/encoding/encode.h"
#include "core/encoding/registry.h"

namespace locus::testing {

// The scheme of that name; fails the test if it cannot be made.
inline std::unique_ptr<Scheme> MustMake(absl::string_view name,
                                        Arguments arguments = {}) {
  auto scheme = MakeScheme(*FindScheme(name), std::move(arguments));
  EXPECT_TRUE(scheme.ok()) << scheme.status();
  return *std::move(scheme);
}

// A tensor of any floating-point type from doubles, rounded.
inline Tensor MakeTensor(DType dtype, const Shape& shape,
                         const std::vector<double>& values) {
  Tensor tensor(dtype, shape);
  EXPECT_EQ(tensor.element_count(), static_cast<int64_t>(values.size()));
  WriteRow(dtype, values.data(), static_cast<int64_t>(values.size()),
           tensor.at(0));
  return tensor;
}

// N(0, deviation), from the stream of that name.
inline Tensor RandomTensor(DType dtype, const Shape& shape, uint64_t seed,
                           absl::string_view purpose, double deviation = 1) {
  std::vector<double> values(*ElementCount(shape));
  RandomStream(seed, purpose).FillNormal(deviation, absl::MakeSpan(values));
  return MakeTensor(dtype, shape, values);
}

inline std::vector<double> Values(const TensorView& tensor) {
  std::vector<double> values(tensor.element_count());
  ReadRow(tensor.dtype, tensor.data, tensor.element_count(), values.data());
  return values;
}
inline std::vector<double> Values(const Tensor& tensor) {
  return Values(tensor.view());
}

// For comparing to the bit.
inline std::string Bytes(const Tensor& tensor) {
  return {tensor.view().data, static_cast<size_t>(tensor.byte_count())};
}

// The largest difference, each relative to the larger of 1 and the expected
// magnitude of the whole tensor; NaNs and infinities must stand in the same
// places.
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
