#include "client/cli/support/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/color.h"
#include "client/cli/support/text_layout.h"
#include "client/io/file.h"
#include "client/io/npy_file.h"
#include "client/io/temporary_file.h"
#include "locus/client/npy.h"

namespace locus::client {
namespace {

void ExitOnSignal(int signal) {
  RemoveUnfinishedFiles();
  _exit(128 + signal);
}

constexpr int kDefaultColumns = 80;

// The width of the terminal of a descriptor: the variable COLUMNS, or the width
// that the terminal reports. 0 if neither is known or it is too narrow for any
// layout.
int Columns(int descriptor) {
  constexpr int kMin = 40;
  constexpr int kMax = 10000;
  int columns = 0;
  const char* const variable = std::getenv("COLUMNS");
  if (variable == nullptr || !absl::SimpleAtoi(variable, &columns)) {
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  }
  return columns < kMin || columns > kMax ? 0 : columns;
}

// WriteDescriptor() and WriteNpy() return CANCELLED for a closed pipe.
absl::Status IgnoreClosedPipe(const absl::Status& status) {
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::Status WriteOutput(absl::string_view text) {
  return IgnoreClosedPipe(WriteDescriptor(
      STDOUT_FILENO,
      OutputHasColor() ? PrintableWithColor(text) : Printable(text),
      "standard output"));
}

absl::Status PrintThenWrite(absl::string_view text,
                            absl::FunctionRef<absl::Status()> write) {
  const absl::Status printed = WriteOutput(text);
  const absl::Status written = write();
  if (written.ok()) return printed;
  if (!printed.ok()) WriteError(ErrorLine(printed));
  return written;
}

absl::Status WriteTensor(const std::string& path, const v1::Tensor& tensor,
                         const std::string& descr) {
  return IgnoreClosedPipe(WriteNpy(path, tensor, descr));
}

absl::Status WriteTensors(const std::vector<TensorFile>& files) {
  FileReplacement replacement;
  for (const TensorFile& file : files) {
    CLIENT_RETURN_IF_ERROR(IgnoreClosedPipe(
        AddNpy(file.path, *file.tensor, /*descr=*/"", &replacement)));
  }
  return replacement.Commit();
}

void WriteError(absl::string_view line) {
  const std::string message =
      absl::StrCat(ErrorPrefix(), " ", PrintableLine(line));
  std::string text;
  const int columns = ErrorColumns();
  if (columns > 0) {
    constexpr int kIndent = 2;
    // The first line is not indented, so it may be as wide as the others.
    text = WrapParagraph(message, columns, kIndent).substr(kIndent);
  } else {
    text = message + "\n";
  }
  // A failure to write to standard error cannot be reported.
  WriteDescriptor(STDERR_FILENO, text, "standard error").IgnoreError();
}

int OutputColumns() {
  const int columns = Columns(STDOUT_FILENO);
  return columns > 0 ? columns : kDefaultColumns;
}

int ErrorColumns() {
  if (isatty(STDERR_FILENO) == 0) return 0;
  const int columns = Columns(STDERR_FILENO);
  return columns > 0 ? columns : kDefaultColumns;
}

void WriteProgress(absl::string_view text) {
  WriteDescriptor(STDERR_FILENO, text, "standard error").IgnoreError();
}

void OpenStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // open() returns the lowest free number, which is `descriptor`.
    if (open("/dev/null", O_RDWR) != descriptor) return;
  }
}

void InstallSignalHandlers() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGINT, ExitOnSignal);
  std::signal(SIGTERM, ExitOnSignal);
}

}  // namespace locus::client
