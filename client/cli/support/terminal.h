// Standard output, standard error, and signal handling of the program.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// Writes to standard output. A closed pipe is not an error, because the reader
// may stop early (`locus schemes | head -1`).
absl::Status WriteOutput(absl::string_view text);

// WriteNpy() that does not report a closed pipe as an error.
absl::Status WriteTensor(const std::string& path, const v1::Tensor& tensor,
                         const std::string& descr = "");

// Writes "locus: <line>" to standard error.
void WriteError(absl::string_view line);

// Width of the terminal of standard output in columns; 80 if it is not a
// terminal.
int OutputColumns();
// Width of the terminal of standard error in columns; 0 if it is not a
// terminal.
int ErrorColumns();

// Writes `text` to standard error unchanged.
void WriteProgress(absl::string_view text);

// Opens /dev/null in place of standard input, output and error if they are
// closed. Otherwise the next file or socket would get their descriptor number
// and receive text that is meant for the terminal.
void OpenStandardDescriptors();

// On SIGINT and SIGTERM the program removes an unfinished output file and exits
// with 128 + signal. SIGPIPE is ignored, so that writing to a closed pipe fails
// with EPIPE.
void InstallSignalHandlers();

}  // namespace locus::client
