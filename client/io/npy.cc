#include "locus/client/npy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/io/file.h"
#include "client/io/npy_file.h"
#include "client/io/npy_header.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr absl::string_view kMagic = "\x93NUMPY";
// Headers that NumPy writes have about a hundred bytes; headers of records with
// many fields have more.
constexpr int64_t kMaxHeaderBytes = int64_t{1} << 20;

// The element type of a file.
struct FileType {
  // NumPy's kind of type: f, i, u or b.
  char kind;
  // Size of one element.
  int64_t size_bytes;
  bool is_big_endian;
  // The type of the resulting tensor.
  v1::DataType dtype;
};

absl::StatusOr<FileType> ParseFileType(const std::string& descr) {
  FileType type{};
  if (descr.size() == 3 && descr[2] >= '1' && descr[2] <= '8' &&
      absl::StrContains("<>|=", descr.substr(0, 1))) {
    type.kind = descr[1];
    type.size_bytes = descr[2] - '0';
    type.is_big_endian = descr[0] == '>';
  }
  const bool is_power = (type.size_bytes & (type.size_bytes - 1)) == 0;
  if (type.kind == 'f' && is_power && type.size_bytes >= 2) {
    type.dtype = type.size_bytes == 2   ? v1::DATA_TYPE_FLOAT16
                 : type.size_bytes == 4 ? v1::DATA_TYPE_FLOAT32
                                        : v1::DATA_TYPE_FLOAT64;
  } else if ((type.kind == 'i' || type.kind == 'u') && is_power) {
    type.dtype = v1::DATA_TYPE_INT64;
  } else if (type.kind == 'b' && type.size_bytes == 1) {
    type.dtype = v1::DATA_TYPE_BOOL;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "elements of type \"", descr,
        "\" are not supported; float16, float32, float64, integers and bool "
        "are"));
  }
  return type;
}

absl::StatusOr<NpyHeader> ReadHeader(FileReader& file) {
  CLIENT_ASSIGN_OR_RETURN(const std::string preamble, file.Read(8));
  if (preamble.compare(0, 4, "PK\x03\x04") == 0) {
    return absl::InvalidArgumentError(
        "is a .npz archive; save the array alone with np.save");
  }
  if (preamble.size() < 8 || !absl::StartsWith(preamble, kMagic)) {
    return absl::InvalidArgumentError("is not a .npy file");
  }
  const int version = static_cast<unsigned char>(preamble[6]);
  if (version < 1 || version > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("has .npy format version ", version,
                     "; versions 1, 2 and 3 are supported"));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  CLIENT_ASSIGN_OR_RETURN(const std::string length_text,
                          file.Read(length_bytes));
  int64_t length = 0;
  for (size_t i = 0; i < length_text.size(); ++i) {
    length |= int64_t{static_cast<unsigned char>(length_text[i])} << (8 * i);
  }
  if (length > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("claims a header of ", length, " bytes; at most ",
                     kMaxHeaderBytes, " are read"));
  }
  CLIENT_ASSIGN_OR_RETURN(const std::string text, file.Read(length));
  if (length_text.size() < length_bytes ||
      static_cast<int64_t>(text.size()) < length) {
    return absl::InvalidArgumentError("ends within its header");
  }
  return ParseNpyHeader(text);
}

// Reads the elements in file order. INVALID_ARGUMENT unless the file contains
// exactly `byte_count` more bytes.
absl::StatusOr<std::string> ReadData(FileReader& file, int64_t byte_count) {
  const std::optional<int64_t> remaining = file.RemainingBytes();
  const auto mismatch = [&](int64_t have) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", have, " bytes of data; its header calls for ", byte_count));
  };
  if (remaining.has_value() && *remaining != byte_count) {
    return mismatch(*remaining);
  }
  CLIENT_ASSIGN_OR_RETURN(std::string data, file.Read(byte_count));
  if (static_cast<int64_t>(data.size()) != byte_count) {
    return mismatch(static_cast<int64_t>(data.size()));
  }
  return data;
}

void SwapBytes(int64_t size_bytes, std::string* data) {
  for (size_t at = 0; at < data->size(); at += size_bytes) {
    std::reverse(data->begin() + at, data->begin() + at + size_bytes);
  }
}

// Converts column-major to row-major order. Visits the target in order and the
// source by strides.
std::string Transpose(absl::Span<const int64_t> shape, int64_t size_bytes,
                      const std::string& source) {
  // The strides of an array without elements may overflow, as one extent is 0
  // and the others are not bounded.
  if (source.empty()) return source;
  const size_t rank = shape.size();
  std::vector<int64_t> strides(rank, size_bytes);
  for (size_t axis = 1; axis < rank; ++axis) {
    strides[axis] = strides[axis - 1] * shape[axis - 1];
  }
  std::string target(source.size(), '\0');
  std::vector<int64_t> index(rank, 0);
  int64_t from = 0;
  for (size_t to = 0; to < target.size(); to += size_bytes) {
    std::memcpy(target.data() + to, source.data() + from, size_bytes);
    for (size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return target;
}

absl::StatusOr<std::string> WidenIntegers(const FileType& type,
                                          std::string data) {
  const bool is_signed = type.kind == 'i';
  if (is_signed && type.size_bytes == 8) return data;
  const int unused_bits = static_cast<int>(64 - 8 * type.size_bytes);
  std::string wide(data.size() / type.size_bytes * 8, '\0');
  for (size_t i = 0; i < data.size() / type.size_bytes; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, data.data() + i * type.size_bytes, type.size_bytes);
    // Shifting left and arithmetically right extends the sign bit.
    const int64_t value =
        is_signed ? static_cast<int64_t>(bits << unused_bits) >> unused_bits
                  : static_cast<int64_t>(bits);
    if (!is_signed && value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("has the integer ", bits, ", which int64 cannot hold"));
    }
    std::memcpy(wide.data() + i * 8, &value, 8);
  }
  return wide;
}

// Inverse of WidenIntegers(): keeps the low `size_bytes` of each integer.
std::string NarrowIntegers(int64_t size_bytes, const std::string& wide) {
  std::string narrow(wide.size() / 8 * size_bytes, '\0');
  for (size_t i = 0; i < wide.size() / 8; ++i) {
    std::memcpy(narrow.data() + i * size_bytes, wide.data() + i * 8,
                size_bytes);
  }
  return narrow;
}

absl::StatusOr<v1::Tensor> ReadArray(FileReader& file, std::string* descr) {
  CLIENT_ASSIGN_OR_RETURN(const NpyHeader header, ReadHeader(file));
  CLIENT_ASSIGN_OR_RETURN(const FileType type, ParseFileType(header.descr));
  CLIENT_ASSIGN_OR_RETURN(const int64_t count,
                          ElementCount(header.shape, type.dtype));
  CLIENT_ASSIGN_OR_RETURN(std::string data,
                          ReadData(file, count * type.size_bytes));
  if (type.is_big_endian) SwapBytes(type.size_bytes, &data);
  if (header.fortran_order && header.shape.size() > 1) {
    data = Transpose(header.shape, type.size_bytes, data);
  }
  if (type.dtype == v1::DATA_TYPE_INT64) {
    CLIENT_ASSIGN_OR_RETURN(data, WidenIntegers(type, std::move(data)));
    if (descr != nullptr) {
      *descr = absl::StrCat(type.size_bytes == 1 ? "|" : "<",
                            std::string(1, type.kind), type.size_bytes);
    }
  }
  if (type.dtype == v1::DATA_TYPE_BOOL) {
    for (char& value : data) value = value != 0 ? 1 : 0;
  }
  v1::Tensor tensor;
  tensor.set_dtype(type.dtype);
  tensor.mutable_shape()->Add(header.shape.begin(), header.shape.end());
  *tensor.mutable_data() = std::move(data);
  return tensor;
}

std::string DescrOf(v1::DataType dtype) {
  switch (dtype) {
    case v1::DATA_TYPE_FLOAT64:
      return "<f8";
    case v1::DATA_TYPE_FLOAT16:
      return "<f2";
    case v1::DATA_TYPE_INT64:
      return "<i8";
    case v1::DATA_TYPE_BOOL:
      return "|b1";
    default:
      return "<f4";
  }
}

}  // namespace

absl::StatusOr<v1::Tensor> ReadNpy(const std::string& path,
                                   std::string* descr) {
  CLIENT_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  absl::StatusOr<v1::Tensor> tensor = ReadArray(file, descr);
  if (absl::IsInvalidArgument(tensor.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name(), ": ", tensor.status().message()));
  }
  return tensor;
}

absl::Status AddNpy(const std::string& path, const v1::Tensor& tensor,
                    const std::string& descr, FileReplacement* files) {
  if (tensor.dtype() == v1::DATA_TYPE_BFLOAT16) {
    CLIENT_ASSIGN_OR_RETURN(const v1::Tensor wide,
                            Convert(tensor, v1::DATA_TYPE_FLOAT32));
    return AddNpy(path, wide, "", files);
  }
  CLIENT_RETURN_IF_ERROR(CheckTensor(tensor));
  NpyHeader header{.descr = DescrOf(tensor.dtype()),
                   .shape = {tensor.shape().begin(), tensor.shape().end()}};
  if (tensor.dtype() == v1::DATA_TYPE_INT64 && !descr.empty()) {
    CLIENT_ASSIGN_OR_RETURN(const FileType type, ParseFileType(descr));
    header.descr = descr;
    return files->Add(path, FormatNpyHeader(header),
                      NarrowIntegers(type.size_bytes, tensor.data()));
  }
  return files->Add(path, FormatNpyHeader(header), tensor.data());
}

absl::Status WriteNpy(const std::string& path, const v1::Tensor& tensor,
                      const std::string& descr) {
  FileReplacement files;
  CLIENT_RETURN_IF_ERROR(AddNpy(path, tensor, descr, &files));
  return files.Commit();
}

}  // namespace locus::client
