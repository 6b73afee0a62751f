// Validation, sizes and flops of AttentionJob.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using testing::MustMake;
using testing::Values;

Tensor Zeros(const Shape& shape, DType dtype = DType::kFloat32) {
  return Tensor::Zeros(dtype, shape);
}

// The status of creating a job with inputs of these shapes.
absl::Status Create(const Shape& q, const Shape& k, const Shape& v,
                    AttentionOptions options = {},
                    absl::string_view scheme = "none") {
  const Tensor tq = Zeros(q), tk = Zeros(k), tv = Zeros(v);
  return AttentionJob::Create(*MustMake(scheme),
                              {tq.view(), tk.view(), tv.view()},
                              std::move(options))
      .status();
}

// The field that the error for inputs of these shapes names; empty if valid.
std::string InvalidFieldOf(const Shape& q, const Shape& k, const Shape& v) {
  return FieldOf(Create(q, k, v));
}

TEST(AttentionJobTest, RejectsShapesThatDisagree) {
  const Shape good = {2, 4, 3, 8};
  EXPECT_EQ(InvalidFieldOf(good, good, good), "");
  EXPECT_EQ(InvalidFieldOf({2, 3, 8}, good, good), "heads.q.shape");
  EXPECT_EQ(InvalidFieldOf(good, {1, 4, 3, 8}, {1, 4, 3, 8}), "heads.k.shape");
  EXPECT_EQ(InvalidFieldOf(good, {2, 3, 3, 8}, {2, 3, 3, 8}), "heads.k.shape");
  EXPECT_EQ(InvalidFieldOf(good, {2, 4, 3, 7}, good), "heads.k.shape");
  EXPECT_EQ(InvalidFieldOf(good, good, {2, 4, 2, 8}), "heads.v.shape");
  EXPECT_EQ(InvalidFieldOf(good, good, {2, 2, 3, 8}), "heads.v.shape");
  EXPECT_EQ(InvalidFieldOf({2, 0, 3, 8}, good, good), "heads.q.shape");
  EXPECT_EQ(InvalidFieldOf(good, {2, 0, 3, 8}, {2, 0, 3, 8}), "heads.k.shape");
}

TEST(AttentionJobTest, RejectsTypesThatDisagree) {
  const Tensor a = Zeros({1, 1, 2, 4}),
               b = Zeros({1, 1, 2, 4}, DType::kFloat16);
  const Tensor c = Zeros({1, 1, 2, 4}, DType::kInt64);
  const auto none = MustMake("none");
  const auto invalid_field = [&](const Tensor& q, const Tensor& k,
                                 const Tensor& v) {
    return FieldOf(
        AttentionJob::Create(*none, {q.view(), k.view(), v.view()}, {})
            .status());
  };
  EXPECT_EQ(invalid_field(a, b, a), "heads.k.dtype");
  EXPECT_EQ(invalid_field(a, a, b), "heads.v.dtype");
  EXPECT_EQ(invalid_field(c, c, c), "heads.q.dtype");
}

TEST(AttentionJobTest, RejectsInvalidOptions) {
  const Shape shape = {2, 4, 3, 8};
  const auto invalid_field = [&](const AttentionOptions& options,
                                 absl::string_view scheme = "none") {
    return FieldOf(Create(shape, shape, shape, options, scheme));
  };
  AttentionOptions options;
  options.window = -1;
  EXPECT_EQ(invalid_field(options), "options.window");
  options = {};
  options.scale = std::nan("");
  EXPECT_EQ(invalid_field(options), "options.scale");
  options = {};
  options.softcap = -2;
  EXPECT_EQ(invalid_field(options), "options.softcap");
  options = {};
  options.query_offset = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(invalid_field(options), "options.query_offset");
  options = {};
  options.query_offset = -1;
  EXPECT_EQ(invalid_field(options), "");
  EXPECT_EQ(invalid_field(options, "rope"), "options.query_offset");
  options = {};
  options.query_positions = *Positions::Range(0, 4);
  EXPECT_EQ(invalid_field(options), "options.query_positions");
  options = {};
  options.key_positions = *Positions::Range(0, 2);
  EXPECT_EQ(invalid_field(options), "options.key_positions");
  for (const Shape& bad :
       {Shape{2}, Shape{2, 3}, Shape{1, 2, 4, 3, 3}, Shape{0}}) {
    const Tensor mask = Tensor::Zeros(DType::kBool, bad);
    options = {};
    options.mask = mask.view();
    EXPECT_EQ(invalid_field(options), "options.mask.shape") << ToString(bad);
  }
  const Tensor per_head = Tensor::Zeros(DType::kBool, {4, 1, 3});
  options = {};
  options.mask = per_head.view();
  EXPECT_EQ(invalid_field(options), "");
  const Tensor integers = Tensor::Zeros(DType::kInt64, {3});
  options = {};
  options.mask = integers.view();
  EXPECT_EQ(invalid_field(options), "options.mask.dtype");
}

TEST(AttentionJobTest, CausalBiasErrorNamesTheParameter) {
  const Shape shape = {1, 2, 3, 8};
  for (const std::string scheme : {"alibi", "kerple"}) {
    const absl::Status status = Create(shape, shape, shape, {}, scheme);
    EXPECT_EQ(FieldOf(status), "scheme." + scheme + ".symmetric");
    EXPECT_THAT(std::string(status.message()), HasSubstr("set symmetric"));
  }
}

TEST(AttentionJobTest, RejectsSchemesThatActOnEmbeddings) {
  const Shape shape = {1, 2, 3, 8};
  for (const char* scheme : {"sinusoidal", "learned"}) {
    const absl::Status status = Create(shape, shape, shape, {}, scheme);
    EXPECT_EQ(FieldOf(status), "scheme");
    EXPECT_THAT(std::string(status.message()), HasSubstr("module"));
  }
}

TEST(AttentionJobTest, FlopsCountVisiblePairs) {
  const Tensor q = Zeros({1, 1, 4, 8});
  const auto flops = [&](AttentionOptions options) {
    return AttentionJob::Create(*MustMake("none"),
                                {q.view(), q.view(), q.view()}, options)
        ->flops();
  };
  EXPECT_EQ(flops({}), 4.0 * 16 * 8);
  EXPECT_EQ(flops({.causal = true}), 4.0 * 10 * 8);
  EXPECT_EQ(flops({.causal = true, .window = 1}), 4.0 * 4 * 8);
}

TEST(AttentionJobTest, BottomRightAlignsLastQueryWithLastKey) {
  const Tensor q = Zeros({1, 1, 2, 8});
  const Tensor k = Zeros({1, 1, 5, 8});
  AttentionOptions options{.causal = true, .bottom_right = true};
  const auto create = [&](const Tensor& queries, const Tensor& keys,
                          absl::string_view scheme) {
    return AttentionJob::Create(
        *MustMake(scheme), {queries.view(), keys.view(), keys.view()}, options);
  };
  EXPECT_EQ(create(q, k, "rope")->flops(), 4.0 * (4 + 5) * 8);
  EXPECT_EQ(FieldOf(create(k, q, "rope").status()), "options.bottom_right");
  EXPECT_TRUE(create(k, q, "none").ok());
  options.query_offset = 3;
  EXPECT_EQ(FieldOf(create(q, k, "rope").status()), "options.bottom_right");
}

TEST(AttentionJobTest, RejectsPositionsThatOverflowInAnEmptyBatch) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  const TensorView q{DType::kFloat32, {0, 1, huge, 1}, nullptr};
  const TensorView k{DType::kFloat32, {0, 1, 1, 1}, nullptr};
  const auto job = AttentionJob::Create(*MustMake("none"), {q, k, k},
                                        {.query_offset = int64_t{1} << 61});
  EXPECT_EQ(FieldOf(job.status()), "options.query_positions.count");
}

TEST(AttentionJobTest, InputsWithoutElementsCostNothing) {
  const int64_t huge = int64_t{1} << 62;
  const TensorView none{DType::kFloat32, {huge, huge, 0, 8}, nullptr};
  for (const bool causal : {false, true}) {
    const auto job = AttentionJob::Create(*MustMake("none"), {none, none, none},
                                          {.causal = causal});
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->output_bytes(), 0);
    EXPECT_EQ(job->flops(), 0);
    EXPECT_EQ(job->scratch_bytes(2), 0);
    ThreadPool pool(1);
    EXPECT_TRUE(job->Run(pool, nullptr).ok());
  }
}

}  // namespace
}  // namespace locus
