// EncodeJob: shapes, types, defaults and rejected requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MustMake;
using testing::RandomTensor;
using testing::Values;

Encoding MustEncode(const Scheme& scheme, EncodeOptions options) {
  auto job = EncodeJob::Create(scheme, std::move(options));
  EXPECT_TRUE(job.ok()) << job.status();
  ThreadPool pool(2);
  auto encoding = job->Run(pool, nullptr);
  EXPECT_TRUE(encoding.ok()) << encoding.status();
  return *std::move(encoding);
}

absl::Status Rejection(const Scheme& scheme, EncodeOptions options) {
  return EncodeJob::Create(scheme, std::move(options)).status();
}

TEST(EncodeTest, TableHasOneRowPerPosition) {
  EncodeOptions options;
  options.positions = *Positions::Ids({7, 0, 7});
  options.dim = 6;
  const Encoding encoding = MustEncode(*MustMake("sinusoidal"), options);
  const auto& table = std::get<AdditiveEncoding>(encoding.numbers).table;
  EXPECT_EQ(table.shape(), (Shape{3, 6}));
  const auto values = Values(table);
  for (int64_t c = 0; c < 6; ++c) EXPECT_EQ(values[c], values[12 + c]);
  EXPECT_FALSE(encoding.output.has_value());
}

TEST(EncodeTest, OutputIsInputPlusTableInTheInputsType) {
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    const Tensor x = RandomTensor(dtype, {2, 3, 8}, 1, "x");
    EncodeOptions options;
    options.input = x.view();
    options.dtype = DType::kFloat64;
    const Encoding encoding = MustEncode(*MustMake("sinusoidal"), options);
    const auto table =
        Values(std::get<AdditiveEncoding>(encoding.numbers).table);
    std::vector<double> sums = Values(x);
    for (size_t n = 0; n < sums.size(); ++n) {
      const double code = table[n % table.size()];
      // All types but FLOAT64 are added in single precision.
      sums[n] = dtype == DType::kFloat64
                    ? sums[n] + code
                    : static_cast<float>(sums[n]) + static_cast<float>(code);
    }
    EXPECT_EQ(encoding.output->dtype(), dtype);
    EXPECT_EQ(Values(*encoding.output),
              Values(MakeTensor(dtype, {2, 3, 8}, sums)));
  }
}

TEST(EncodeTest, NoneCopiesTheInput) {
  const Tensor x = RandomTensor(DType::kFloat16, {4, 5}, 1, "x");
  EncodeOptions options;
  options.input = x.view();
  const Encoding encoding = MustEncode(*MustMake("none"), options);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(encoding.numbers));
  EXPECT_EQ(Values(*encoding.output), Values(x));
}

TEST(EncodeTest, BiasIsAddedToScores) {
  const Tensor scores = RandomTensor(DType::kFloat64, {2, 3, 4, 5}, 1, "s");
  EncodeOptions options;
  options.input = scores.view();
  options.dtype = DType::kFloat64;
  const Encoding encoding = MustEncode(*MustMake("t5_bias"), options);
  const auto& bias = std::get<BiasEncoding>(encoding.numbers).bias;
  EXPECT_EQ(bias.shape(), (Shape{3, 4, 5}));
  const auto values = Values(bias);
  std::vector<double> expected = Values(scores);
  for (size_t n = 0; n < expected.size(); ++n) {
    expected[n] += values[n % values.size()];
  }
  EXPECT_EQ(Values(*encoding.output), expected);
}

TEST(EncodeTest, CausalBiasMasksTheUpperTriangle) {
  EncodeOptions options;
  options.positions = *Positions::Range(0, 3);
  options.head_count = 1;
  const auto bias = Values(
      std::get<BiasEncoding>(MustEncode(*MustMake("alibi"), options).numbers)
          .bias);
  const double inf = std::numeric_limits<double>::infinity();
  const double m = std::exp2(-8.0);
  EXPECT_EQ(bias,
            (std::vector<double>{0, -inf, -inf, -m, 0, -inf, -2 * m, -m, 0}));
}

TEST(EncodeTest, OutputBytesCountAllResults) {
  const Tensor x = RandomTensor(DType::kFloat64, {2, 3, 8}, 1, "x");
  EncodeOptions options;
  options.input = x.view();
  const auto job = EncodeJob::Create(*MustMake("rope"), options);
  EXPECT_EQ(job->output_bytes(), 2 * 3 * 4 * 4 + 2 * 3 * 8 * 8);
}

TEST(EncodeTest, ErrorsNameTheField) {
  const auto sinusoidal = MustMake("sinusoidal");
  EncodeOptions options;
  EXPECT_EQ(FieldOf(Rejection(*sinusoidal, options)), "positions");
  options.positions = *Positions::Range(0, 4);
  EXPECT_EQ(FieldOf(Rejection(*sinusoidal, options)), "dim");
  options.dim = -3;
  EXPECT_EQ(FieldOf(Rejection(*sinusoidal, options)), "dim");
  options.dim = 8;
  options.dtype = DType::kBool;
  EXPECT_EQ(FieldOf(Rejection(*sinusoidal, options)), "dtype");
  options.dtype = DType::kFloat32;
  for (const int64_t length : {int64_t{-1}, int64_t{3}, int64_t{1} << 54}) {
    options.sequence_length = length;
    EXPECT_EQ(FieldOf(Rejection(*sinusoidal, options)), "sequence_length");
  }
  options.sequence_length = 4;
  EXPECT_TRUE(Rejection(*sinusoidal, options).ok());
  options.sequence_length = 0;
  options.key_positions = *Positions::Range(0, 4);
  EXPECT_EQ(FieldOf(Rejection(*sinusoidal, options)), "key_positions");
  options.key_positions.reset();
  const Tensor x = RandomTensor(DType::kFloat32, {3, 8}, 1, "x");
  options.input = x.view();
  EXPECT_EQ(FieldOf(Rejection(*sinusoidal, options)), "input.shape");
  options.positions = *Positions::Range(0, 3);
  options.dim = 9;
  EXPECT_EQ(FieldOf(Rejection(*sinusoidal, options)), "input.shape");
  EXPECT_EQ(FieldOf(Rejection(*MustMake("rope"), options)),
            "scheme.rope.rotary_dim");
}

TEST(EncodeTest, HugeResultsAreSizedWithoutAllocation) {
  EncodeOptions options;
  options.positions = *Positions::Range(0, int64_t{1} << 60);
  options.dim = 1 << 10;
  const absl::Status overflow = Rejection(*MustMake("sinusoidal"), options);
  EXPECT_EQ(overflow.code(), absl::StatusCode::kResourceExhausted);
  options.positions = *Positions::Range(0, int64_t{1} << 40);
  const auto job = EncodeJob::Create(*MustMake("sinusoidal"), options);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->output_bytes(), int64_t{1} << 52);
  options.dim = int64_t{1} << 40;
  EXPECT_EQ(LimitOf(Rejection(*MustMake("sinusoidal"), options)), "max_dim");
  options.head_count = int64_t{1} << 40;
  EXPECT_EQ(LimitOf(Rejection(*MustMake("alibi"), options)), "max_dim");
  options.dim = 0;
  EXPECT_EQ(LimitOf(Rejection(*MustMake("alibi"), options)), "max_head_count");
}

TEST(EncodeTest, EmptyBiasWithHugeExtentsIsCheap) {
  EncodeOptions options;
  options.positions = *Positions::Range(0, int64_t{1} << 60);
  options.key_positions = *Positions::Range(0, 0);
  options.head_count = 1;
  const Encoding encoding = MustEncode(*MustMake("alibi"), options);
  EXPECT_EQ(std::get<BiasEncoding>(encoding.numbers).bias.element_count(), 0);
}

TEST(EncodeTest, KeyPositionsDefaultToQueryPositions) {
  const Tensor scores = RandomTensor(DType::kFloat32, {1, 2, 6}, 1, "s");
  EncodeOptions options;
  options.input = scores.view();
  EXPECT_TRUE(EncodeJob::Create(*MustMake("t5_bias"), options).ok());
  options.positions = *Positions::Range(4, 2);
  EXPECT_EQ(FieldOf(Rejection(*MustMake("t5_bias"), options)), "input.shape");
  options.key_positions = *Positions::Range(0, 6);
  EXPECT_TRUE(EncodeJob::Create(*MustMake("t5_bias"), options).ok());
}

TEST(EncodeTest, RunAgainReusesMemory) {
  const Tensor x = RandomTensor(DType::kFloat32, {2, 40, 16}, 1, "x");
  ThreadPool pool(2);
  Encoding again;
  for (const char* name : {"sinusoidal", "rope", "none", "learned"}) {
    SCOPED_TRACE(name);
    EncodeOptions options;
    options.input = x.view();
    const auto scheme = MustMake(name);
    const auto job = EncodeJob::Create(*scheme, options);
    ASSERT_TRUE(job.ok()) << job.status();
    // The result holds numbers of another scheme.
    ASSERT_TRUE(job->RunAgain(pool, nullptr, again).ok());
    const char* const address = again.output->view().data;
    ASSERT_TRUE(job->RunAgain(pool, nullptr, again).ok());
    EXPECT_EQ(again.output->view().data, address);
    const auto fresh = job->Run(pool, nullptr);
    EXPECT_EQ(Bytes(*again.output), Bytes(*fresh->output));
    EXPECT_EQ(again.numbers.index(), fresh->numbers.index());
  }
  // A job with other sizes and without input.
  EncodeOptions options;
  options.positions = *Positions::Range(3, 7);
  options.dim = 8;
  const auto job = EncodeJob::Create(*MustMake("sinusoidal"), options);
  ASSERT_TRUE(job->RunAgain(pool, nullptr, again).ok());
  EXPECT_FALSE(again.output.has_value());
  EXPECT_EQ(
      Bytes(std::get<AdditiveEncoding>(again.numbers).table),
      Bytes(
          std::get<AdditiveEncoding>(job->Run(pool, nullptr)->numbers).table));
}

// Large tables use streaming stores and longer blocks.
TEST(EncodeTest, RowsOfLargeAndSmallTablesAreIdentical) {
  constexpr int64_t kFirst = 1'000'003;
  constexpr int64_t kCount = 5000;
  for (const int64_t dim : {1024, 1016, 1002}) {
    for (const std::string name : {"sinusoidal", "rope", "xpos"}) {
      SCOPED_TRACE(::testing::Message() << name << " " << dim);
      Arguments arguments;
      // The default centre would be different in each call.
      if (name == "xpos") arguments.Set("centre", kFirst + kCount / 2);
      const auto scheme = MustMake(name, std::move(arguments));
      const auto rows = [&](int64_t first, int64_t count) {
        EncodeOptions options;
        options.positions = *Positions::Range(first, count);
        options.dim = dim;
        Encoding encoding = MustEncode(*scheme, options);
        if (auto* code = std::get_if<AdditiveEncoding>(&encoding.numbers)) {
          return std::vector<Tensor>{std::move(code->table)};
        }
        auto& rotation = std::get<RotationEncoding>(encoding.numbers);
        return std::vector<Tensor>{std::move(rotation.cos),
                                   std::move(rotation.sin)};
      };
      const std::vector<Tensor> large = rows(kFirst, kCount);
      for (const int64_t i : {0, 1, 60, 61, 255, 2500, 4999}) {
        const std::vector<Tensor> small = rows(kFirst + i, 1);
        for (size_t n = 0; n < large.size(); ++n) {
          const size_t bytes = Bytes(small[n]).size();
          EXPECT_EQ(Bytes(large[n]).substr(i * bytes, bytes), Bytes(small[n]))
              << "row " << i;
        }
      }
    }
  }
}

// These schemes depend on all positions of a call, not only on those of a row.
TEST(EncodeTest, PagesWithTheSequenceLengthEqualOneCall) {
  constexpr int64_t kLength = 300;
  Arguments stretched;
  stretched.Set("max_length", int64_t{64});
  stretched.Set("policy", std::string("INTERPOLATE"));
  std::vector<std::unique_ptr<Scheme>> schemes;
  schemes.push_back(MustMake("xpos"));
  schemes.push_back(MustMake("learned", std::move(stretched)));
  schemes.push_back(MustMake("sinusoidal"));
  schemes.back()->Randomize({.maximum = 1000, .seed = 3});
  schemes.push_back(MustMake("xpos"));
  schemes.back()->Randomize({.maximum = 1000, .seed = 3});
  for (const auto& scheme : schemes) {
    SCOPED_TRACE(scheme->name());
    const auto bytes = [&](int64_t first, int64_t count, int64_t length) {
      EncodeOptions options;
      options.positions = *Positions::Range(first, count);
      options.dim = 8;
      options.sequence_length = length;
      const Encoding encoding = MustEncode(*scheme, options);
      const auto* code = std::get_if<AdditiveEncoding>(&encoding.numbers);
      return std::string(Bytes(
          code != nullptr ? code->table
                          : std::get<RotationEncoding>(encoding.numbers).cos));
    };
    const std::string whole = bytes(0, kLength, 0);
    EXPECT_EQ(bytes(0, 100, kLength) + bytes(100, 200, kLength), whole);
    EXPECT_NE(bytes(0, 100, 0) + bytes(100, 200, 0), whole);
  }
}

// The factor is 1 at the centre, even if the factors of neighbouring positions
// would overflow.
TEST(EncodeTest, SteepGrowthStaysFinite) {
  for (const double scale_base : {0.1, 1e-3}) {
    Arguments arguments;
    arguments.Set("scale_base", scale_base);
    EncodeOptions options;
    options.positions = *Positions::Ids({63});
    options.dim = 4;
    const Encoding encoding =
        MustEncode(*MustMake("xpos", std::move(arguments)), options);
    const auto& rotation = std::get<RotationEncoding>(encoding.numbers);
    const auto cos = Values(rotation.cos);
    const auto sin = Values(rotation.sin);
    for (size_t k = 0; k < cos.size(); ++k) {
      EXPECT_NEAR(cos[k] * cos[k] + sin[k] * sin[k], 1, 1e-6);
    }
  }
}

TEST(EncodeTest, PolicySelectsTheRowsOfAGivenTable) {
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    const Tensor table = RandomTensor(dtype, {4, 3}, 2, "table");
    const std::vector<double> rows = Values(table);
    const std::vector<int64_t> ids = {2, 3, 0, 1, 4, 9, 9, 3};
    const auto encode = [&](const char* policy) {
      Arguments arguments;
      arguments.Set("table", table.view());
      arguments.Set("policy", std::string(policy));
      EncodeOptions options;
      options.positions = *Positions::Ids(ids);
      options.dtype = dtype;
      const auto scheme = MustMake("learned", std::move(arguments));
      return Values(
          std::get<AdditiveEncoding>(MustEncode(*scheme, options).numbers)
              .table);
    };
    const auto expected = [&](const std::vector<int64_t>& read) {
      std::vector<double> values;
      for (const int64_t row : read) {
        for (int64_t c = 0; c < 3; ++c) {
          values.push_back(row < 0 ? 0 : rows[row * 3 + c]);
        }
      }
      return values;
    };
    EXPECT_EQ(encode("CLAMP"), expected({2, 3, 0, 1, 3, 3, 3, 3}));
    EXPECT_EQ(encode("WRAP"), expected({2, 3, 0, 1, 0, 1, 1, 3}));
    EXPECT_EQ(encode("ZERO"), expected({2, 3, 0, 1, -1, -1, -1, 3}));
  }
}

TEST(EncodeTest, StopsWhenCancelled) {
  EncodeOptions options;
  options.positions = *Positions::Range(0, 1000);
  options.dim = 8;
  const auto job = EncodeJob::Create(*MustMake("sinusoidal"), options);
  ThreadPool pool(2);
  EXPECT_EQ(
      job->Run(pool, [] { return absl::CancelledError(""); }).status().code(),
      absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace locus
