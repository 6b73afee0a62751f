// Schemes as people type them, and as the flag --table completes them.
#include <cstdint>
#include <string>

#include "client/cli/requests/scheme_text.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using locus::fuzz::Check;
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto scheme = locus::client::ParseScheme(text);
  if (!scheme.ok()) {
    Check(!scheme.status().message().empty(), "an error says something");
    return 0;
  }
  Check(scheme->kind_case() != locus::v1::Scheme::KIND_NOT_SET,
        "what is understood is a scheme");
  Check(!locus::client::SchemeName(*scheme).empty(), "it has a name");
  const auto again = locus::client::ParseScheme(scheme->ShortDebugString());
  Check(again.ok(), "what is printed is understood",
        scheme->ShortDebugString() + "\n" + again.status().ToString());
  locus::v1::Tensor table;
  table.set_dtype(locus::v1::DATA_TYPE_FLOAT32);
  table.add_shape(0);
  (void)locus::client::SetTable(table, &*scheme);
  return 0;
}
