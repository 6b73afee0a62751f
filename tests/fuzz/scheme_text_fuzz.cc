// Fuzzes the parser of schemes on the command line, and the flag --table, which
// adds a table to a scheme. A scheme can be parsed again after it was printed.
#include <cstdint>
#include <string>

#include "client/cli/requests/scheme_text.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using locus::fuzz::Check;
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto scheme = locus::client::ParseScheme(text);
  if (!scheme.ok()) {
    Check(!scheme.status().message().empty(), "an error has a message");
    return 0;
  }
  Check(scheme->kind_case() != locus::v1::Scheme::KIND_NOT_SET,
        "a parsed scheme has a kind");
  Check(!locus::client::SchemeName(*scheme).empty(),
        "a parsed scheme has a name");
  const auto reparsed = locus::client::ParseScheme(scheme->ShortDebugString());
  Check(reparsed.ok(), "a printed scheme can be parsed",
        scheme->ShortDebugString() + "\n" + reparsed.status().ToString());
  locus::v1::Tensor table;
  table.set_dtype(locus::v1::DATA_TYPE_FLOAT32);
  table.add_shape(0);
  (void)locus::client::SetTable(table, &*scheme);
  return 0;
}
