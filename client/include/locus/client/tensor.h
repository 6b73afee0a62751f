// Tensors of the contract, made of arrays and read back.
//
//   const std::vector<float> values = ...;   // [3, 4]
//   absl::StatusOr<v1::Tensor> x = MakeTensor<float>({3, 4}, values);
//   absl::StatusOr<std::vector<double>> numbers = ToDoubles(*x);
//
// A tensor that came from elsewhere may lie about its size: everything that
// returns a status checks it, and CheckTensor does nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// The bytes of one element; 0 for a type we do not know.
int64_t ElementSize(v1::DataType dtype);
bool IsFloatingPoint(v1::DataType dtype);
// "float32" and so on.
std::string DataTypeName(v1::DataType dtype);
// The other way. INVALID_ARGUMENT lists the names.
absl::StatusOr<v1::DataType> ParseDataType(absl::string_view name);
// "[3, 4]".
std::string ShapeName(const v1::Tensor& tensor);

// The product of the axes. INVALID_ARGUMENT if one is negative or the bytes
// would not fit a message.
absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> shape,
                                     v1::DataType dtype);
// OK if `data` has exactly the bytes that shape and type call for.
absl::Status CheckTensor(const v1::Tensor& tensor);

// T is float, double, int64_t or bool, and decides the type of the tensor.
// INVALID_ARGUMENT unless there are as many values as the shape has elements.
template <typename T>
absl::StatusOr<v1::Tensor> MakeTensor(absl::Span<const int64_t> shape,
                                      absl::Span<const T> values);

// Any floating-point type, rounded to nearest even.
absl::StatusOr<v1::Tensor> MakeTensorOf(v1::DataType dtype,
                                        absl::Span<const int64_t> shape,
                                        absl::Span<const double> values);

// All elements in order. Integers above 2^53 are rounded.
absl::StatusOr<std::vector<double>> ToDoubles(const v1::Tensor& tensor);
// INVALID_ARGUMENT unless the type is INT64 or BOOL.
absl::StatusOr<std::vector<int64_t>> ToIntegers(const v1::Tensor& tensor);

// One element. The tensor is right and `index` is in it.
double ElementAt(const v1::Tensor& tensor, int64_t index);

// The same numbers in another floating-point type, rounded to nearest even.
absl::StatusOr<v1::Tensor> Convert(const v1::Tensor& tensor,
                                   v1::DataType dtype);

}  // namespace locus::client
