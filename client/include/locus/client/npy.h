// Reading and writing of NumPy's .npy files.
//
// ReadNpy() accepts the files that np.save writes: format versions 1.0, 2.0 and
// 3.0, C and Fortran memory order, little-endian and big-endian. Element types
// are converted as follows:
//
//   f4, f8, f2               FLOAT32, FLOAT64, FLOAT16
//   i1 .. i8, u1 .. u8       INT64 (u8 only if every value fits)
//   b1                       BOOL
//
// WriteNpy() uses the same table, except that BFLOAT16 is written losslessly as
// f4, since NumPy has no such type. Objects (pickles), records, strings,
// complex numbers and .npz archives are rejected.
//
// Files are treated as untrusted input: sizes are checked against the file and
// against the maximum size of a message before memory is allocated.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// Reads a tensor from a .npy file, or from standard input if `path` is "-".
// Error messages name the file. If `descr` is not null and the file contains
// integers, `descr` receives NumPy's name of their type, such as "<i4".
absl::StatusOr<v1::Tensor> ReadNpy(const std::string& path,
                                   std::string* descr = nullptr);

// Writes a tensor to a .npy file, or to standard output if `path` is "-". The
// file is replaced atomically. If `descr` is not empty, integers are written as
// that type, such as "<i4", which must be able to hold all values; this is
// not checked.
absl::Status WriteNpy(const std::string& path, const v1::Tensor& tensor,
                      const std::string& descr = "");

}  // namespace locus::client
