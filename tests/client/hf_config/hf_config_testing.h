// Helpers of the hf_config tests.
#pragma once

#include <string>
#include <utility>

#include "client/hf_config/hf_config.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace locus::client {

// Reads a configuration; a failure fails the test.
inline HfModel MustRead(const std::string& text) {
  auto model = ReadHfConfig(text);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : HfModel();
}

// Formats a scheme as one line of Protobuf text format.
inline std::string TextOf(const v1::Scheme& scheme) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(scheme, &text);
  return text;
}

// Reads a configuration and formats its scheme.
inline std::string SchemeOf(const std::string& text) {
  return TextOf(MustRead(text).scheme);
}

}  // namespace locus::client
