// Standard output, and what ends the program from outside.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// OK also if whoever read the output has gone (`locus schemes | head -1`): what
// was wanted has been seen.
absl::Status WriteOutput(absl::string_view text);

// WriteNpy with the same indulgence.
absl::Status WriteTensor(const std::string& path, const v1::Tensor& tensor,
                         const std::string& descr = "");

// `locus: <line>` to standard error.
void WriteError(absl::string_view line);

// The columns of the terminal; 80 where there is none.
int OutputColumns();
// The same of standard error; 0 where it is no terminal.
int ErrorColumns();

// To standard error, as it is.
void WriteProgress(absl::string_view text);

// Opens /dev/null in place of standard input, output and error where they are
// closed. Otherwise the next file or socket that is opened would take their
// number, and what is meant for the terminal would go there.
void OpenStandardDescriptors();

// Interrupts end the program with 128 + signal and no half-written file; a
// closed pipe is an error of a write instead of a signal.
void InstallSignalHandlers();

}  // namespace locus::client
