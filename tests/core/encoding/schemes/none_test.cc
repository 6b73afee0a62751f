// No positions: the scheme compiles to nothing.
#include <variant>

#include <gtest/gtest.h>

#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::MustMake;

TEST(NoneTest, CompilesToNothing) {
  const auto compiled = MustMake("none")->Compile({.dim = 8, .head_count = 2});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*compiled));
  EXPECT_FALSE(IsCausal(*compiled));
}

TEST(NoneTest, HasNoParameters) {
  EXPECT_TRUE(FindScheme("none")->parameters.empty());
  EXPECT_EQ(MustMake("none")->site(), Site::kNone);
}

}  // namespace
}  // namespace locus
