#include "client/cli/render/scheme_title.h"

#include "gtest/gtest.h"

namespace locus::client {
namespace {

v1::SchemeDescription RopeDescription() {
  v1::SchemeDescription description;
  const auto add = [&description](const char* name, const char* type,
                                  const char* value) {
    v1::SchemeParameter* parameter = description.add_parameters();
    parameter->set_name(name);
    parameter->set_type(type);
    parameter->set_default_value(value);
  };
  add("base", "number", "10000");
  add("layout", "choice", "INTERLEAVED");
  add("yarn", "group", "");
  add("yarn.factor", "number", "1");
  add("yarn.original_length", "integer", "2048");
  return description;
}

TEST(SchemeTitleTest, NamesParametersThatAreSet) {
  v1::Scheme scheme;
  scheme.mutable_rope();
  EXPECT_EQ(SchemeTitle(scheme), "rope");
  scheme.mutable_rope()->set_base(500000);
  EXPECT_EQ(SchemeTitle(scheme), "rope, base 500000");
}

TEST(SchemeTitleTest, ScalingHasFactorAndOriginalLength) {
  v1::Scheme scheme;
  scheme.mutable_rope()->mutable_yarn()->set_factor(4);
  EXPECT_EQ(SchemeTitle(scheme), "rope, yarn \u00d74");
  const v1::SchemeDescription description = RopeDescription();
  EXPECT_EQ(SchemeTitle(scheme, &description), "rope, yarn \u00d74 of 2048");
  scheme.mutable_rope()->mutable_yarn()->set_original_length(4096);
  EXPECT_EQ(SchemeTitle(scheme, &description), "rope, yarn \u00d74 of 4096");
}

TEST(SchemeTitleTest, FlagsAndChoicesAreWords) {
  v1::Scheme scheme;
  scheme.mutable_alibi()->set_symmetric(true);
  scheme.mutable_alibi()->add_slopes(0.5);
  EXPECT_EQ(SchemeTitle(scheme), "alibi, symmetric, slopes given");
}

TEST(SchemeDetailsTest, HasSizesAndDefaultsThatTheTitleOmits) {
  const v1::SchemeDescription description = RopeDescription();
  v1::Scheme scheme;
  scheme.mutable_rope();
  EXPECT_EQ(SchemeDetails(scheme, &description, {.dim = 64}),
            "dim 64 \u00b7 base 10000");
  scheme.mutable_rope()->set_base(500000);
  EXPECT_EQ(SchemeDetails(scheme, &description, {.dim = 64, .head_count = 1}),
            "dim 64 \u00b7 1 head");
  EXPECT_EQ(SchemeDetails(scheme, nullptr, {}), "");
}

}  // namespace
}  // namespace locus::client
