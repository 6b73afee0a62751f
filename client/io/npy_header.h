// The header of a .npy file: a Python dictionary in text form.
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
  // The first axis is contiguous, not the last.
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads the dictionary as NumPy writes it, keys in any order. INVALID_ARGUMENT
// says what is wrong, without naming the file.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text);

// The whole beginning of a file: magic, version 1.0, and the dictionary, padded
// so that the data begins at a multiple of 64 bytes.
std::string FormatNpyHeader(const NpyHeader& header);

}  // namespace locus::client
