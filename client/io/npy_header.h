// The header of a .npy file, which is a Python dictionary in text form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::client {

struct NpyHeader {
  // NumPy's name of the element type, such as "<f4".
  std::string descr;
  // True if the first axis is contiguous (column-major order).
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Parses the dictionary as NumPy writes it, with the keys in any order. The
// message of an INVALID_ARGUMENT error does not name the file.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text);

// Returns the complete header of a file: magic string, version 1.0 and the
// dictionary, padded so that the data begins at a multiple of 64 bytes.
std::string FormatNpyHeader(const NpyHeader& header);

}  // namespace locus::client
