// Conversion between arrays and the tensors of the API.
//
//   const std::vector<float> values = ...;   // [3, 4]
//   absl::StatusOr<v1::Tensor> x = MakeTensor<float>({3, 4}, values);
//   absl::StatusOr<std::vector<double>> numbers = ToDoubles(*x);
//
// A received tensor may have a data size that contradicts its shape. Every
// function that returns a status checks this; CheckTensor() does only that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// Returns the size of one element in bytes, or 0 for an unknown type.
int64_t ElementSize(v1::DataType dtype);
bool IsFloatingPoint(v1::DataType dtype);
// Returns the name of a type, such as "float32".
std::string DataTypeName(v1::DataType dtype);
// Parses the name of a type. INVALID_ARGUMENT lists the valid names.
absl::StatusOr<v1::DataType> ParseDataType(absl::string_view name);
// Formats the shape of a tensor, as in "[3, 4]".
std::string ShapeName(const v1::Tensor& tensor);

// Returns the product of the extents. INVALID_ARGUMENT if an extent is negative
// or the data would exceed the maximum size of a message.
absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> shape,
                                     v1::DataType dtype);
// Checks that the size of `data` matches shape and type.
absl::Status CheckTensor(const v1::Tensor& tensor);

// Makes a tensor of type T, which is float, double, int64_t or bool.
// INVALID_ARGUMENT unless the number of values matches the shape.
template <typename T>
absl::StatusOr<v1::Tensor> MakeTensor(absl::Span<const int64_t> shape,
                                      absl::Span<const T> values);

// Makes a tensor of any floating-point type. Values are rounded to nearest,
// ties to even.
absl::StatusOr<v1::Tensor> MakeTensorOf(v1::DataType dtype,
                                        absl::Span<const int64_t> shape,
                                        absl::Span<const double> values);

// Returns all elements in row-major order. Integers above 2^53 are rounded.
absl::StatusOr<std::vector<double>> ToDoubles(const v1::Tensor& tensor);
// Returns all elements in row-major order. INVALID_ARGUMENT unless the type is
// INT64 or BOOL.
absl::StatusOr<std::vector<int64_t>> ToIntegers(const v1::Tensor& tensor);

// Returns one element. Requires a tensor that passes CheckTensor() and an index
// within its bounds; neither is checked.
double ElementAt(const v1::Tensor& tensor, int64_t index);

// Converts a tensor to a floating-point type. Values are rounded to nearest,
// ties to even.
absl::StatusOr<v1::Tensor> Convert(const v1::Tensor& tensor,
                                   v1::DataType dtype);

}  // namespace locus::client
