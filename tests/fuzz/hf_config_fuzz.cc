// Fuzzes the reader of Hugging Face config.json files. A configuration that can
// be read and then written can be read again.
#include <cstdint>

#include "absl/strings/string_view.h"
#include "client/hf_config/hf_config.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using locus::fuzz::Check;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = locus::client::ReadHfConfig(text);
  if (!model.ok()) return 0;
  Check(model->scheme.kind_case() != locus::v1::Scheme::KIND_NOT_SET,
        "a configuration that is read has a scheme");
  auto written = locus::client::WriteHfConfig(model->scheme, model->head_dim);
  if (!written.ok()) return 0;
  // WriteHfConfig() writes only a part of a configuration; the head dimension
  // is in the rest.
  if (model->head_dim > 0) (*written)["head_dim"] = model->head_dim;
  const std::string written_text = written->dump();
  const auto reread = locus::client::ReadHfConfig(written_text);
  Check(reread.ok(), "a written configuration can be read",
        written_text + "\n" + reread.status().ToString());
  return 0;
}
