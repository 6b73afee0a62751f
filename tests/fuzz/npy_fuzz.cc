// Fuzzes the reader of .npy files. A tensor that can be read is not larger than
// its file, and is the same after it was written and read again.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "locus/client/npy.h"
#include "locus/client/tensor.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/memory_file.h"

namespace locus {
namespace {

// A temporary folder, removed by the destructor. Fuzzers run in parallel, so
// that each process needs its own.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/locus_npy_fuzz_XXXXXX";
    fuzz::Check(mkdtemp(name) != nullptr, "a folder can be created in /tmp");
    folder_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/written.npy"; }

 private:
  std::string folder_;
};

// The file to which tensors are written.
const std::string& WrittenPath() {
  static const TemporaryFolder folder;
  static const std::string path = folder.path();
  return path;
}

}  // namespace
}  // namespace locus

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using locus::fuzz::Check;
  const locus::fuzz::MemoryFile file(data, size);
  const auto read = locus::client::ReadNpy(file.path());
  if (!read.ok()) return 0;
  Check(read->data().size() <= size, "a tensor is not larger than its file");
  Check(locus::client::WriteNpy(locus::WrittenPath(), *read).ok(),
        "a tensor can be written");
  const auto reread = locus::client::ReadNpy(locus::WrittenPath());
  Check(reread.ok(), "a written tensor can be read",
        reread.status().ToString());
  Check(reread->SerializeAsString() == read->SerializeAsString(),
        "writing and reading preserves a tensor");
  return 0;
}
