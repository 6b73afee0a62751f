#include "locus/client/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <Eigen/Core>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are little-endian and are copied without conversion");

constexpr int64_t kMaxBytes = std::numeric_limits<int32_t>::max();

struct NamedType {
  v1::DataType dtype;
  absl::string_view name;
  int64_t size_bytes;
};
constexpr NamedType kTypes[] = {
    {v1::DATA_TYPE_FLOAT32, "float32", 4},
    {v1::DATA_TYPE_FLOAT64, "float64", 8},
    {v1::DATA_TYPE_FLOAT16, "float16", 2},
    {v1::DATA_TYPE_BFLOAT16, "bfloat16", 2},
    {v1::DATA_TYPE_INT64, "int64", 8},
    {v1::DATA_TYPE_BOOL, "bool", 1},
};

template <typename T>
constexpr v1::DataType TypeOf() {
  if constexpr (std::is_same_v<T, float>) return v1::DATA_TYPE_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return v1::DATA_TYPE_FLOAT64;
  if constexpr (std::is_same_v<T, int64_t>) return v1::DATA_TYPE_INT64;
  if constexpr (std::is_same_v<T, bool>) return v1::DATA_TYPE_BOOL;
}

// Loads one element. The data of a message is not aligned.
template <typename T>
T Load(const char* data, int64_t index) {
  T element;
  std::memcpy(&element, data + index * sizeof(T), sizeof(T));
  return element;
}

template <typename T, typename Value>
void Store(Value value, int64_t index, char* data) {
  const T element = static_cast<T>(value);
  std::memcpy(data + index * sizeof(T), &element, sizeof(T));
}

// Rounds to odd: truncates towards zero and sets the last bit if the result is
// inexact. Rounding the result to float16 or bfloat16 then equals rounding the
// double directly, which avoids the error of double rounding (Boldo and
// Melquiond, 2008).
float RoundToOdd(double value) {
  float rounded = static_cast<float>(value);
  if (!std::isfinite(rounded) || rounded == value) return rounded;
  if (std::abs(rounded) > std::abs(value)) {
    rounded = std::nextafter(rounded, 0.0f);
  }
  return std::bit_cast<float>(std::bit_cast<uint32_t>(rounded) | 1u);
}

void StoreAs(v1::DataType dtype, double value, int64_t index, char* data) {
  switch (dtype) {
    case v1::DATA_TYPE_FLOAT32:
      return Store<float>(value, index, data);
    case v1::DATA_TYPE_FLOAT64:
      return Store<double>(value, index, data);
    case v1::DATA_TYPE_FLOAT16:
      return Store<Eigen::half>(RoundToOdd(value), index, data);
    case v1::DATA_TYPE_BFLOAT16:
      return Store<Eigen::bfloat16>(RoundToOdd(value), index, data);
    default:
      return;
  }
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// Makes a tensor of that type and shape without data. INVALID_ARGUMENT unless
// the shape has `value_count` elements.
absl::StatusOr<v1::Tensor> MakeEmptyTensor(v1::DataType dtype,
                                           absl::Span<const int64_t> shape,
                                           int64_t value_count) {
  CLIENT_ASSIGN_OR_RETURN(const int64_t count, ElementCount(shape, dtype));
  if (count != value_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", ShapeText(shape), " has ", count, " elements; ",
                     value_count, " values were given"));
  }
  v1::Tensor tensor;
  tensor.set_dtype(dtype);
  tensor.mutable_shape()->Add(shape.begin(), shape.end());
  return tensor;
}

// Same as MakeEmptyTensor(), with zero-filled data.
absl::StatusOr<v1::Tensor> Allocate(v1::DataType dtype,
                                    absl::Span<const int64_t> shape,
                                    int64_t value_count) {
  CLIENT_ASSIGN_OR_RETURN(v1::Tensor tensor,
                          MakeEmptyTensor(dtype, shape, value_count));
  tensor.mutable_data()->resize(value_count * ElementSize(dtype));
  return tensor;
}

absl::Status CheckFloatingPoint(v1::DataType dtype) {
  if (IsFloatingPoint(dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(DataTypeName(dtype), " is not a floating-point type"));
}

}  // namespace

int64_t ElementSize(v1::DataType dtype) {
  for (const NamedType& type : kTypes) {
    if (type.dtype == dtype) return type.size_bytes;
  }
  return 0;
}

bool IsFloatingPoint(v1::DataType dtype) {
  return ElementSize(dtype) != 0 && dtype != v1::DATA_TYPE_INT64 &&
         dtype != v1::DATA_TYPE_BOOL;
}

std::string DataTypeName(v1::DataType dtype) {
  for (const NamedType& type : kTypes) {
    if (type.dtype == dtype) return std::string(type.name);
  }
  return absl::StrCat("type ", static_cast<int>(dtype));
}

absl::StatusOr<v1::DataType> ParseDataType(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const NamedType& type : kTypes) {
    if (type.name == name) return type.dtype;
    names.push_back(type.name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", name, "\" is not a type; types are ", absl::StrJoin(names, ", ")));
}

std::string ShapeName(const v1::Tensor& tensor) {
  return ShapeText(tensor.shape());
}

absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> shape,
                                     v1::DataType dtype) {
  const int64_t size = ElementSize(dtype);
  if (size == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(DataTypeName(dtype), " is not known"));
  }
  bool is_empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ShapeText(shape), " has a negative axis"));
    }
    is_empty |= extent == 0;
  }
  if (is_empty) return 0;
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent > kMaxBytes / size / count) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ShapeText(shape), " of ", DataTypeName(dtype),
                       " is more than the 2 GiB that a message can hold"));
    }
    count *= extent;
  }
  return count;
}

absl::Status CheckTensor(const v1::Tensor& tensor) {
  CLIENT_ASSIGN_OR_RETURN(const int64_t count,
                          ElementCount(tensor.shape(), tensor.dtype()));
  const int64_t needed_bytes = count * ElementSize(tensor.dtype());
  if (static_cast<int64_t>(tensor.data().size()) != needed_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor ", ShapeName(tensor), " of ", DataTypeName(tensor.dtype()),
        " has ", tensor.data().size(), " bytes instead of ", needed_bytes));
  }
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<v1::Tensor> MakeTensor(absl::Span<const int64_t> shape,
                                      absl::Span<const T> values) {
  static_assert(sizeof(bool) == 1);
  CLIENT_ASSIGN_OR_RETURN(
      v1::Tensor tensor,
      MakeEmptyTensor(TypeOf<T>(), shape, static_cast<int64_t>(values.size())));
  if (!values.empty()) {
    tensor.set_data(values.data(), values.size() * sizeof(T));
  }
  return tensor;
}

template absl::StatusOr<v1::Tensor> MakeTensor(absl::Span<const int64_t>,
                                               absl::Span<const float>);
template absl::StatusOr<v1::Tensor> MakeTensor(absl::Span<const int64_t>,
                                               absl::Span<const double>);
template absl::StatusOr<v1::Tensor> MakeTensor(absl::Span<const int64_t>,
                                               absl::Span<const int64_t>);
template absl::StatusOr<v1::Tensor> MakeTensor(absl::Span<const int64_t>,
                                               absl::Span<const bool>);

absl::StatusOr<v1::Tensor> MakeTensorOf(v1::DataType dtype,
                                        absl::Span<const int64_t> shape,
                                        absl::Span<const double> values) {
  CLIENT_RETURN_IF_ERROR(CheckFloatingPoint(dtype));
  CLIENT_ASSIGN_OR_RETURN(
      v1::Tensor tensor,
      Allocate(dtype, shape, static_cast<int64_t>(values.size())));
  char* data = tensor.mutable_data()->data();
  for (size_t i = 0; i < values.size(); ++i) {
    StoreAs(dtype, values[i], static_cast<int64_t>(i), data);
  }
  return tensor;
}

absl::StatusOr<std::vector<double>> ToDoubles(const v1::Tensor& tensor) {
  CLIENT_RETURN_IF_ERROR(CheckTensor(tensor));
  std::vector<double> values(tensor.data().size() /
                             ElementSize(tensor.dtype()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = ElementAt(tensor, static_cast<int64_t>(i));
  }
  return values;
}

absl::StatusOr<std::vector<int64_t>> ToIntegers(const v1::Tensor& tensor) {
  CLIENT_RETURN_IF_ERROR(CheckTensor(tensor));
  if (IsFloatingPoint(tensor.dtype())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "integers are needed, not ", DataTypeName(tensor.dtype())));
  }
  const char* data = tensor.data().data();
  std::vector<int64_t> values(tensor.data().size() /
                              ElementSize(tensor.dtype()));
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t index = static_cast<int64_t>(i);
    values[i] = tensor.dtype() == v1::DATA_TYPE_BOOL
                    ? static_cast<int64_t>(data[i] != 0)
                    : Load<int64_t>(data, index);
  }
  return values;
}

double ElementAt(const v1::Tensor& tensor, int64_t index) {
  const char* data = tensor.data().data();
  switch (tensor.dtype()) {
    case v1::DATA_TYPE_FLOAT32:
      return Load<float>(data, index);
    case v1::DATA_TYPE_FLOAT64:
      return Load<double>(data, index);
    case v1::DATA_TYPE_FLOAT16:
      return static_cast<float>(Load<Eigen::half>(data, index));
    case v1::DATA_TYPE_BFLOAT16:
      return static_cast<float>(Load<Eigen::bfloat16>(data, index));
    case v1::DATA_TYPE_INT64:
      return static_cast<double>(Load<int64_t>(data, index));
    case v1::DATA_TYPE_BOOL:
      return data[index] != 0 ? 1 : 0;
    default:
      return 0;
  }
}

absl::StatusOr<v1::Tensor> Convert(const v1::Tensor& tensor,
                                   v1::DataType dtype) {
  CLIENT_RETURN_IF_ERROR(CheckFloatingPoint(dtype));
  CLIENT_RETURN_IF_ERROR(CheckTensor(tensor));
  if (tensor.dtype() == dtype) return tensor;
  const int64_t count =
      static_cast<int64_t>(tensor.data().size()) / ElementSize(tensor.dtype());
  CLIENT_ASSIGN_OR_RETURN(v1::Tensor converted,
                          Allocate(dtype, tensor.shape(), count));
  char* data = converted.mutable_data()->data();
  for (int64_t i = 0; i < count; ++i) {
    StoreAs(dtype, ElementAt(tensor, i), i, data);
  }
  return converted;
}

}  // namespace locus::client
