#include "locus/client/npy.h"

#include <cstring>
#include <limits>

#include "client/io/npy_header.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"
#include "tests/support/temporary_folder.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a file of version 1.0 with that dictionary.
std::string File(const std::string& dictionary, const std::string& data) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text.push_back(static_cast<char>(dictionary.size() & 0xff));
  text.push_back(static_cast<char>(dictionary.size() >> 8));
  return text + dictionary + data;
}

std::string Dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }\n";
}

template <typename T>
std::string Bytes(std::vector<T> values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

absl::StatusOr<v1::Tensor> ReadBytes(const std::string& bytes) {
  const TemporaryFolder folder;
  return ReadNpy(folder.Write("x.npy", bytes));
}

std::string ErrorOf(const std::string& bytes) {
  const auto tensor = ReadBytes(bytes);
  EXPECT_FALSE(tensor.ok());
  return std::string(tensor.status().message());
}

void ExpectRoundTrip(const v1::Tensor& tensor) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteNpy(folder.Path("x.npy"), tensor).ok());
  const auto read = ReadNpy(folder.Path("x.npy"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), tensor.SerializeAsString());
}

TEST(NpyTest, RoundTripsEveryType) {
  ExpectRoundTrip(*MakeTensor<float>({2, 2}, {1, 2, 3, 4.5f}));
  ExpectRoundTrip(*MakeTensor<double>({3}, {0.1, 0.2, -1e300}));
  ExpectRoundTrip(*MakeTensor<int64_t>({1, 1, 2}, {-1, int64_t{1} << 60}));
  ExpectRoundTrip(*MakeTensorOf(v1::DATA_TYPE_FLOAT16, {2}, {0.5, 1.5}));
  const bool bools[] = {true, false};
  ExpectRoundTrip(*MakeTensor<bool>({2}, bools));
}

TEST(NpyTest, RoundTripsScalarsAndEmptyArrays) {
  ExpectRoundTrip(*MakeTensor<float>({}, {3}));
  ExpectRoundTrip(*MakeTensor<float>({0, 4}, {}));
}

TEST(NpyTest, WritesBfloat16AsFloat32) {
  const TemporaryFolder folder;
  const auto tensor = MakeTensorOf(v1::DATA_TYPE_BFLOAT16, {2}, {1.5, -2});
  ASSERT_TRUE(WriteNpy(folder.Path("x.npy"), *tensor).ok());
  const auto read = ReadNpy(folder.Path("x.npy"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->dtype(), v1::DATA_TYPE_FLOAT32);
  EXPECT_THAT(*ToDoubles(*read), ElementsAre(1.5, -2.0));
}

TEST(NpyTest, AlignsDataTo64Bytes) {
  for (int64_t extent = 1; extent < int64_t{1} << 60; extent *= 7) {
    const std::string header =
        FormatNpyHeader({.descr = "<f4", .shape = {extent, extent}});
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.back(), '\n');
  }
}

TEST(NpyTest, TransposesFortranOrder) {
  // [[0, 1, 2], [3, 4, 5]] in column-major order.
  const auto matrix = ReadBytes(File(Dictionary("<f4", "(2, 3)", "True"),
                                     Bytes<float>({0, 3, 1, 4, 2, 5})));
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_THAT(*ToDoubles(*matrix), ElementsAre(0, 1, 2, 3, 4, 5));
  const auto cube = ReadBytes(File(Dictionary("<i8", "(2, 2, 2)", "True"),
                                   Bytes<int64_t>({0, 4, 2, 6, 1, 5, 3, 7})));
  ASSERT_TRUE(cube.ok()) << cube.status();
  EXPECT_THAT(*ToIntegers(*cube), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(NpyTest, SwapsBigEndian) {
  const auto tensor =
      ReadBytes(File(Dictionary(">f4", "(2,)"),
                     std::string("\x3f\x80\x00\x00\xc0\x00\x00\x00", 8)));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(*ToDoubles(*tensor), ElementsAre(1.0, -2.0));
}

TEST(NpyTest, WidensSmallIntegers) {
  EXPECT_THAT(*ToIntegers(*ReadBytes(
                  File(Dictionary("|i1", "(2,)"), Bytes<int8_t>({-1, 127})))),
              ElementsAre(-1, 127));
  EXPECT_THAT(*ToIntegers(*ReadBytes(
                  File(Dictionary("|u1", "(2,)"), Bytes<uint8_t>({255, 1})))),
              ElementsAre(255, 1));
  EXPECT_THAT(*ToIntegers(*ReadBytes(File(Dictionary("<i4", "(2,)"),
                                          Bytes<int32_t>({-2147483647, 5})))),
              ElementsAre(-2147483647, 5));
  EXPECT_THAT(*ToIntegers(*ReadBytes(File(Dictionary("<u4", "(1,)"),
                                          Bytes<uint32_t>({4294967295u})))),
              ElementsAre(4294967295));
}

TEST(NpyTest, RejectsUnsignedBeyondInt64) {
  EXPECT_THAT(
      ErrorOf(File(Dictionary("<u8", "(1,)"), Bytes<uint64_t>({~uint64_t{0}}))),
      HasSubstr("int64"));
}

TEST(NpyTest, ReadsVersions2And3) {
  const std::string dictionary = Dictionary("<f4", "(1,)");
  for (const char version : {'\x02', '\x03'}) {
    std::string bytes = "\x93NUMPY";
    bytes +=
        {version, '\0', static_cast<char>(dictionary.size()), '\0', '\0', '\0'};
    const auto tensor = ReadBytes(bytes + dictionary + Bytes<float>({2.5f}));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_THAT(*ToDoubles(*tensor), ElementsAre(2.5));
  }
}

TEST(NpyTest, AcceptsKeysInAnyOrder) {
  const auto header = ParseNpyHeader(
      "{\"shape\": (3L, 4), \"fortran_order\": True, \"descr\": \"<f8\"}");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->descr, "<f8");
  EXPECT_TRUE(header->fortran_order);
  EXPECT_THAT(header->shape, ElementsAre(3, 4));
}

TEST(NpyTest, RejectsEveryTruncation) {
  const std::string whole =
      FormatNpyHeader({.descr = "<f4", .shape = {2}}) + Bytes<float>({1, 2});
  ASSERT_TRUE(ReadBytes(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ReadBytes(whole.substr(0, size)).ok()) << size;
  }
}

TEST(NpyTest, RejectsBytesAfterTheArray) {
  EXPECT_THAT(ErrorOf(File(Dictionary("<f4", "(1,)"), "12345")),
              HasSubstr("has 5 bytes of data; its header calls for 4"));
}

TEST(NpyTest, RejectsHugeHeaderBeforeReadingIt) {
  EXPECT_THAT(ErrorOf(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
              HasSubstr("4294967295"));
}

TEST(NpyTest, RejectsHugeShapes) {
  EXPECT_THAT(ErrorOf(File(Dictionary("<f4", "(1099511627776,)"), "")),
              HasSubstr("2 GiB"));
  EXPECT_THAT(ErrorOf(File(Dictionary("<f4", "(4294967296, 4294967296)"), "")),
              HasSubstr("2 GiB"));
  EXPECT_THAT(ErrorOf(File(Dictionary("<f4", "(99999999999999999999,)"), "")),
              HasSubstr("64 bits"));
  EXPECT_THAT(ErrorOf(File(Dictionary("<f4", "(-1, 2)"), "")),
              HasSubstr("negative"));
}

TEST(NpyTest, RejectsMalformedHeaders) {
  for (const char* text :
       {"", "{", "{}", "[]", "{'descr'}", "{'descr': '<f4'", "{'descr': 4}",
        "{'a': 'b'}", "{'shape': 3}", "{'shape': (3", "{'shape': (a,)}",
        "{'shape': (1-2,)}", "{'fortran_order': maybe}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4' 'fortran_order': False 'shape': (1,)}",
        "{'descr': '<f4', 'shape': (1,)}"}) {
    EXPECT_FALSE(ParseNpyHeader(text).ok()) << text;
  }
}

TEST(NpyTest, SurvivesEveryCorruptedByte) {
  const std::string whole =
      FormatNpyHeader(
          {.descr = "<i4", .fortran_order = true, .shape = {2, 2}}) +
      Bytes<int32_t>({1, 2, 3, 4});
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff', '9', '(', '\''}) {
      std::string bytes = whole;
      bytes[at] = value;
      const auto tensor = ReadBytes(bytes);
      EXPECT_TRUE(!tensor.ok() || CheckTensor(*tensor).ok());
    }
  }
}

TEST(NpyTest, RejectsUnsupportedTypes) {
  for (const char* descr : {"<c8", "<U4", "|O", "<f9", "<f1", "<i3", "", "<f",
                            "f4", "<M8", "|b8"}) {
    EXPECT_THAT(ErrorOf(File(Dictionary(descr, "(1,)"), "12345678")),
                HasSubstr("not supported"))
        << descr;
  }
}

TEST(NpyTest, RejectsRecords) {
  EXPECT_THAT(ErrorOf(File("{'descr': [('a', '<f4')], 'fortran_order': False, "
                           "'shape': (1,), }",
                           "1234")),
              HasSubstr("records"));
}

TEST(NpyTest, RejectsArchivesWithHint) {
  EXPECT_THAT(ErrorOf("PK\x03\x04 and so on"), HasSubstr("np.save"));
}

TEST(NpyTest, RejectsOtherFiles) {
  EXPECT_THAT(ErrorOf("hello, world"), HasSubstr("x.npy: is not a .npy file"));
  EXPECT_THAT(std::string(ReadNpy("/dev/zero").status().message()),
              HasSubstr("not a .npy file"));
  EXPECT_EQ(ReadNpy("/nonexistent.npy").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(NpyTest, FailedWriteLeavesNothingBehind) {
  const TemporaryFolder folder;
  v1::Tensor tensor = *MakeTensor<float>({1}, {1});
  tensor.mutable_data()->clear();
  EXPECT_FALSE(WriteNpy(folder.Path("x.npy"), tensor).ok());
  EXPECT_EQ(folder.FileCount(), 0);
}

}  // namespace
}  // namespace locus::client
