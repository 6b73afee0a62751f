// NumPy's .npy files.
//
// What NumPy saves with np.save is read as it is: format 1.0, 2.0 and 3.0,
// either memory order, either byte order. Elements become
//
//   f4, f8, f2               FLOAT32, FLOAT64, FLOAT16
//   i1 .. i8, u1 .. u8       INT64 (u8 only where the values fit)
//   b1                       BOOL
//
// and are written back the same way, except that BFLOAT16 is written as f4,
// without loss, since NumPy has no such type. Objects (pickles), records,
// strings and complex numbers are refused, and so are .npz archives.
//
// A file is not trusted: sizes are checked against the file and against what a
// message can hold before anything is allocated.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// "-" reads standard input. Messages name the file. `descr`, if not null,
// becomes NumPy's name of the type that integers had, such as "<i4"; empty of
// other numbers.
absl::StatusOr<v1::Tensor> ReadNpy(const std::string& path,
                                   std::string* descr = nullptr);

// "-" writes to standard output. A file appears complete or not at all.
// Integers are written as those of `descr` if it is not empty, which must hold
// them.
absl::Status WriteNpy(const std::string& path, const v1::Tensor& tensor,
                      const std::string& descr = "");

}  // namespace locus::client
