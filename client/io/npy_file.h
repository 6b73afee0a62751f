// Writing of .npy files together with other files.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/io/file.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// WriteNpy() as part of a replacement of several files.
absl::Status AddNpy(const std::string& path, const v1::Tensor& tensor,
                    const std::string& descr, FileReplacement* files);

}  // namespace locus::client
