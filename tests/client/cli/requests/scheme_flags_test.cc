#include "client/cli/requests/scheme_flags.h"

#include <fstream>

#include "CLI/CLI.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLlama[] =
    R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
        "max_position_embeddings": 4096, "rope_theta": 500000.0})";

class SchemeFlagsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.Path(name)) << text;
    return folder_.Path(name);
  }

  // Parses the arguments of a command that takes one scheme.
  static bool Parse(std::vector<std::string> arguments, SchemeFlags* flags) {
    CLI::App app;
    AddSchemeFlags(app, *flags);
    return ParsedBy(app, std::move(arguments));
  }
  // Parses the arguments of a command that takes several schemes.
  static std::vector<std::string> ParseList(
      std::vector<std::string> arguments) {
    CLI::App app;
    std::vector<std::string> schemes;
    AddSchemesFlag(app, schemes, "");
    EXPECT_TRUE(ParsedBy(app, std::move(arguments)));
    return schemes;
  }

  TemporaryFolder folder_;

 private:
  static bool ParsedBy(CLI::App& app, std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError&) {
      return false;
    }
    return true;
  }
};

TEST_F(SchemeFlagsTest, ArgumentAndFlagSelectTheSameScheme) {
  SchemeFlags by_argument;
  SchemeFlags by_flag;
  ASSERT_TRUE(Parse({"rope"}, &by_argument));
  ASSERT_TRUE(Parse({"--scheme", "rope"}, &by_flag));
  EXPECT_TRUE(ReadScheme(by_argument)->has_rope());
  EXPECT_TRUE(ReadScheme(by_flag)->has_rope());
}

TEST_F(SchemeFlagsTest, RejectsTwoSchemes) {
  SchemeFlags flags;
  EXPECT_FALSE(Parse({"rope", "alibi"}, &flags));
  EXPECT_FALSE(Parse({"rope", "--scheme", "alibi"}, &flags));
  EXPECT_FALSE(Parse({"rope", "--hf-config", "config.json"}, &flags));
}

TEST_F(SchemeFlagsTest, ListHoldsArgumentsThenFlags) {
  EXPECT_THAT(ParseList({"rope", "-s", "xpos", "alibi", "--scheme", "none"}),
              ElementsAre("rope", "alibi", "xpos", "none"));
  EXPECT_THAT(ParseList({}), ElementsAre());
}

TEST_F(SchemeFlagsTest, ReadsAConfigurationWithItsSizes) {
  const std::string path = Write("llama.json", kLlama);
  const auto model = ReadModel({.scheme = path});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->scheme.rope().base(), 500000);
  EXPECT_EQ(model->head_dim, 128);
  EXPECT_EQ(model->embedding_dim, 4096);
  EXPECT_EQ(model->file_name, "llama.json");
  const auto by_flag = ReadModel({.hf_config = path});
  ASSERT_TRUE(by_flag.ok()) << by_flag.status();
  EXPECT_EQ(by_flag->scheme.DebugString(), model->scheme.DebugString());
}

TEST_F(SchemeFlagsTest, MissingConfigurationIsAFileError) {
  EXPECT_THAT(
      std::string(
          ReadModel({.scheme = folder_.Path("no.json")}).status().message()),
      HasSubstr("cannot read"));
}

TEST_F(SchemeFlagsTest, MixesSchemesAndConfigurations) {
  const std::string path = Write("llama.json", kLlama);
  const auto models = ReadModels({"alibi", path}, {path});
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->size(), 3);
  EXPECT_TRUE((*models)[0].scheme.has_alibi());
  EXPECT_EQ((*models)[1].file_name, "llama.json");
  EXPECT_EQ((*models)[2].head_count, 32);
}

TEST_F(SchemeFlagsTest, NoteNamesTheSizesOfTheConfiguration) {
  HfModel model;
  EXPECT_EQ(SizesNote(model, 128, 32), "");
  model.file_name = "llama.json";
  EXPECT_EQ(SizesNote(model, 128, 32), "(dim 128, 32 heads from llama.json)");
  EXPECT_EQ(SizesNote(model, 0, 1), "(1 head from llama.json)");
  EXPECT_EQ(SizesNote(model, 0, 0), "");
}

}  // namespace
}  // namespace locus::client
