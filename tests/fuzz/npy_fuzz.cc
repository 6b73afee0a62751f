// `.npy` files of anybody's. What can be read is consistent, and comes back the
// same when it is written and read again.
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

// A file of this process's own, since fuzzers run side by side.
class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/locus_npy_fuzz_XXXXXX";
    fuzz::Check(mkdtemp(name) != nullptr, "there is room in /tmp");
    folder_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/again.npy"; }

 private:
  std::string folder_;
};

const std::string& Written() {
  static const Scratch scratch;
  static const std::string path = scratch.path();
  return path;
}

}  // namespace
}  // namespace locus

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using locus::fuzz::Check;
  const locus::fuzz::MemoryFile file(data, size);
  const auto read = locus::client::ReadNpy(file.path());
  if (!read.ok()) return 0;
  Check(read->data().size() <= size, "a tensor has no more than its file");
  Check(locus::client::WriteNpy(locus::Written(), *read).ok(),
        "what was read can be written");
  const auto again = locus::client::ReadNpy(locus::Written());
  Check(again.ok(), "what was written can be read", again.status().ToString());
  Check(again->SerializeAsString() == read->SerializeAsString(),
        "it is the same");
  return 0;
}
