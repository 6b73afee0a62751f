#include "client/cli/support/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/support/cli_errors.h"
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

// WriteDescriptor() and WriteNpy() return CANCELLED for a closed pipe.
absl::Status IgnoreClosedPipe(const absl::Status& status) {
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::Status WriteOutput(absl::string_view text) {
  return IgnoreClosedPipe(
      WriteDescriptor(STDOUT_FILENO, Printable(text), "standard output"));
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
  // A failure to write to standard error cannot be reported.
  WriteDescriptor(STDERR_FILENO,
                  absl::StrCat("locus: ", PrintableLine(line), "\n"),
                  "standard error")
      .IgnoreError();
}

int OutputColumns() {
  winsize size{};
  constexpr int kDefault = 80;
  constexpr int kMin = 40;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return kDefault;
  return size.ws_col < kMin ? kDefault : size.ws_col;
}

int ErrorColumns() {
  winsize size{};
  constexpr int kDefault = 80;
  if (isatty(STDERR_FILENO) == 0) return 0;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return kDefault;
  return size.ws_col == 0 ? kDefault : size.ws_col;
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
