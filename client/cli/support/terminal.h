// Standard output, standard error, and signal handling of the program.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// Writes Printable(text) to standard output, with the colours of color.h if
// standard output has colour. A closed pipe is not an error,
// because the reader may stop early (`locus schemes | head -1`).
absl::Status WriteOutput(absl::string_view text);

// Prints `text` and then calls `write`, so that a result is not lost if its
// file cannot be written. Calls `write` even if the text cannot be printed. If
// both fail, reports the first error on standard error and returns the second.
absl::Status PrintThenWrite(absl::string_view text,
                            absl::FunctionRef<absl::Status()> write);

// WriteNpy() that does not report a closed pipe as an error.
absl::Status WriteTensor(const std::string& path, const v1::Tensor& tensor,
                         const std::string& descr = "");

struct TensorFile {
  std::string path;
  const v1::Tensor* tensor;
};
// Writes several tensors. If one of them cannot be written, no file is
// replaced. A closed pipe is not an error.
absl::Status WriteTensors(const std::vector<TensorFile>& files);

// Writes "locus: <line>" to standard error, with PrintableLine(). Long lines
// are wrapped at words on a terminal, and stay one line otherwise.
void WriteError(absl::string_view line);

// Width for text on standard output: the variable COLUMNS, or the width of the
// terminal, or 80 if neither is known.
int OutputColumns();
// Width for text on standard error, found in the same way; 0 if standard error
// is not a terminal.
int ErrorColumns();

// Writes `text` to standard error unchanged, with its control sequences. The
// caller escapes untrusted parts.
void WriteProgress(absl::string_view text);

// Opens /dev/null in place of standard input, output and error if they are
// closed. Otherwise the next file or socket would get their descriptor number
// and receive text that is meant for the terminal.
void OpenStandardDescriptors();

// On SIGINT and SIGTERM the program removes unfinished output files and exits
// with 128 + signal. SIGPIPE and SIGXFSZ are ignored, so that writing to a
// closed pipe fails with EPIPE, and writing past the size limit of files
// (`ulimit -f`) with EFBIG.
void InstallSignalHandlers();

}  // namespace locus::client
