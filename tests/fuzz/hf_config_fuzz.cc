// Configurations of models, as strangers publish them. What is understood can
// be written as a configuration that is understood again.
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
        "what is understood is a scheme");
  auto written = locus::client::WriteHfConfig(model->scheme, model->head_dim);
  if (!written.ok()) return 0;
  // It is a part of a configuration, whose rest says how large a head is.
  if (model->head_dim > 0) (*written)["head_dim"] = model->head_dim;
  const std::string again_text = written->dump();
  const auto again = locus::client::ReadHfConfig(again_text);
  Check(again.ok(), "what was written is understood",
        again_text + "\n" + again.status().ToString());
  return 0;
}
