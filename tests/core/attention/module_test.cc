// The multi-head attention layer.
#include <numeric>

#include <gtest/gtest.h>

#include "core/attention/module.h"
#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Difference;
using testing::MakeTensor;
using testing::MustMake;
using testing::RandomTensor;
using testing::Values;

AttentionOutputs MustRun(const Scheme& scheme, ModuleInputs inputs,
                         AttentionOptions options = {}) {
  const auto job = ModuleJob::Create(scheme, std::move(inputs), options);
  EXPECT_TRUE(job.ok()) << job.status();
  ThreadPool pool(2);
  auto out = job->Run(pool, nullptr);
  EXPECT_TRUE(out.ok()) << out.status();
  return *std::move(out);
}

// The largest difference between the permuted outputs of a layer and its
// outputs for permuted tokens. The layer has one head, three tokens and
// width 8.
double EquivarianceGap(const Scheme& scheme) {
  const std::vector<int64_t> permutation = {2, 0, 1};
  const Tensor x = RandomTensor(DType::kFloat32, {1, 3, 8}, 42, "tokens");
  Tensor permuted(DType::kFloat32, {1, 3, 8});
  for (int64_t t = 0; t < 3; ++t) {
    std::copy_n(x.view().at(permutation[t] * 8), 8 * 4, permuted.at(t * 8));
  }
  ModuleInputs inputs;
  inputs.seed = 42;
  inputs.x = x.view();
  const auto plain = Values(MustRun(scheme, inputs).output);
  inputs.x = permuted.view();
  const auto moved = Values(MustRun(scheme, inputs).output);
  double gap = 0;
  for (int64_t t = 0; t < 3; ++t) {
    for (int64_t c = 0; c < 8; ++c) {
      gap = std::max(
          gap, std::abs(moved[t * 8 + c] - plain[permutation[t] * 8 + c]));
    }
  }
  return gap;
}

TEST(ModuleTest, IsPermutationEquivariantWithoutPositions) {
  EXPECT_LT(EquivarianceGap(*MustMake("none")), 1e-6);
  EXPECT_GT(EquivarianceGap(*MustMake("sinusoidal")), 1e-3);
}

TEST(ModuleTest, WeightsAreAppliedFromTheRight) {
  // One token: the softmax is 1, and y = x wv wo.
  const Tensor x = MakeTensor(DType::kFloat64, {1, 1, 2}, {1, 2});
  const Tensor identity = MakeTensor(DType::kFloat64, {2, 2}, {1, 0, 0, 1});
  const Tensor wv = MakeTensor(DType::kFloat64, {2, 2}, {0, 1, 10, 0});
  const Tensor wo = MakeTensor(DType::kFloat64, {2, 2}, {1, 1, 0, 1});
  ModuleInputs inputs;
  inputs.x = x.view();
  inputs.weights = {identity.view(), identity.view(), wv.view(), wo.view()};
  EXPECT_EQ(Values(MustRun(*MustMake("none"), inputs).output),
            (std::vector<double>{20, 21}));
}

TEST(ModuleTest, EmbeddingOfAWordDoesNotDependOnItsPosition) {
  ModuleInputs inputs;
  inputs.tokens = {"a", "b", "a"};
  inputs.dim = 8;
  const auto out = Values(MustRun(*MustMake("none"), inputs).output);
  for (int64_t c = 0; c < 8; ++c) EXPECT_FLOAT_EQ(out[c], out[16 + c]);
}

TEST(ModuleTest, WeightsOfEachQuerySumToOne) {
  ModuleInputs inputs;
  inputs.tokens = {"the", "cat", "sat", "on", "the", "mat"};
  inputs.head_count = 4;
  AttentionOptions options;
  options.return_weights = true;
  options.causal = true;
  const auto out = MustRun(*MustMake("rope"), inputs, options);
  EXPECT_EQ(out.weights->shape(), (Shape{1, 4, 6, 6}));
  const auto weights = Values(*out.weights);
  for (int64_t row = 0; row < 24; ++row) {
    EXPECT_NEAR(std::accumulate(weights.begin() + row * 6,
                                weights.begin() + (row + 1) * 6, 0.0),
                1, 1e-6);
  }
}

TEST(ModuleTest, RoundsBFloat16OnceAtTheEnd) {
  const Tensor x = RandomTensor(DType::kBFloat16, {2, 5, 8}, 1, "x");
  const Tensor wide = MakeTensor(DType::kFloat32, {2, 5, 8}, Values(x));
  ModuleInputs inputs;
  inputs.x = x.view();
  const auto narrow = MustRun(*MustMake("rope"), inputs);
  inputs.x = wide.view();
  const auto full = MustRun(*MustMake("rope"), inputs);
  EXPECT_EQ(
      Values(narrow.output),
      Values(MakeTensor(DType::kBFloat16, {2, 5, 8}, Values(full.output))));
}

TEST(ModuleTest, ErrorsNameTheField) {
  const auto invalid_field = [](const Scheme& scheme, ModuleInputs inputs,
                                AttentionOptions options = {}) {
    return FieldOf(
        ModuleJob::Create(scheme, std::move(inputs), std::move(options))
            .status());
  };
  const auto none = MustMake("none");
  ModuleInputs inputs;
  inputs.tokens = {"a", "b"};
  inputs.dim = 8;
  inputs.head_count = 3;
  EXPECT_EQ(invalid_field(*none, inputs), "module.head_count");
  inputs.head_count = 1;
  inputs.dim = -1;
  EXPECT_EQ(invalid_field(*none, inputs), "module.dim");
  inputs.dim = 0;
  const Tensor flat = RandomTensor(DType::kFloat32, {3, 8}, 1, "x");
  inputs.x = flat.view();
  EXPECT_EQ(invalid_field(*none, inputs), "module.x.shape");
  const Tensor x = RandomTensor(DType::kFloat32, {1, 3, 8}, 1, "x");
  inputs.x = x.view();
  inputs.weights = {flat.view(), flat.view(), flat.view(), flat.view()};
  EXPECT_EQ(invalid_field(*none, inputs), "module.weights.wq.shape");
  inputs.weights.reset();
  AttentionOptions options;
  options.query_positions = *Positions::Range(0, 2);
  EXPECT_EQ(invalid_field(*MustMake("sinusoidal"), inputs, options),
            "options.query_positions");
  options.query_positions = *Positions::Range(0, 3);
  options.key_positions = *Positions::Range(1, 3);
  EXPECT_EQ(invalid_field(*MustMake("sinusoidal"), inputs, options),
            "options.key_positions");
}

TEST(ModuleTest, DrawingWeightsIsBoundedAndCancellable) {
  ModuleInputs inputs;
  inputs.tokens = {"a"};
  inputs.dim = 16000;
  const auto none = MustMake("none");
  EXPECT_EQ(LimitOf(ModuleJob::Create(*none, inputs, {}).status()),
            "max_drawn_dim");
  inputs.dim = 4096;
  const auto job = ModuleJob::Create(*none, inputs, {});
  ASSERT_TRUE(job.ok()) << job.status();
  ThreadPool pool(1);
  int check_count = 0;
  const auto out = job->Run(pool, [&check_count] {
    return ++check_count > 3 ? absl::DeadlineExceededError("")
                             : absl::OkStatus();
  });
  EXPECT_EQ(out.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(check_count, 4);
}

TEST(ModuleTest, KeyPositionsDefaultToIndices) {
  ModuleInputs inputs;
  inputs.tokens = {"a", "b", "c"};
  AttentionOptions options;
  options.query_positions = *Positions::Range(5, 3);
  options.return_weights = true;
  const auto rope = MustMake("rope");
  const auto alone = Values(*MustRun(*rope, inputs, options).weights);
  options.key_positions = *Positions::Range(0, 3);
  EXPECT_EQ(Values(*MustRun(*rope, inputs, options).weights), alone);
  options.key_positions = *Positions::Range(5, 3);
  EXPECT_NE(Values(*MustRun(*rope, inputs, options).weights), alone);
}

TEST(ModuleTest, InputsWithoutElementsCostNothing) {
  const TensorView x{DType::kFloat32, {0, int64_t{1} << 62, 8}, nullptr};
  ModuleInputs inputs;
  inputs.x = x;
  EXPECT_EQ(MustRun(*MustMake("sinusoidal"), inputs).output.element_count(), 0);
}

}  // namespace
}  // namespace locus
