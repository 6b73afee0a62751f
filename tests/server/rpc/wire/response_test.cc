// The bytes on the wire are identical to protobuf's own serialisation.
#include "server/rpc/wire/response.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "locus/v1/evaluation.pb.h"
#include "server/services/convert/convert.h"

namespace locus::server {
namespace {

// A length whose tensors are large enough not to be copied.
constexpr int64_t kLargeLength = 5000;

Tensor Numbered(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  for (int64_t n = 0; n < tensor.byte_count(); ++n) {
    tensor.at(0)[n] = static_cast<char>(n * 7);
  }
  return tensor;
}

std::string Flatten(const grpc::ByteBuffer& wire) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(wire.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// Expects that protobuf parses the bytes, and serialises the parsed message,
// with its tensors, to the same bytes.
template <typename Message, typename Results>
void ExpectWireOfProtobuf(Results results) {
  Response<Message> response;
  ToResponse(std::move(results), &response);
  const int64_t size = WireSize(response.message, response.tensors);
  const std::string wire = Flatten(ToWire(response.message, &response.tensors));
  EXPECT_EQ(static_cast<int64_t>(wire.size()), size);
  Message parsed;
  ASSERT_TRUE(parsed.ParseFromString(wire));
  EXPECT_EQ(parsed.SerializeAsString(), wire);
  EXPECT_TRUE(response.tensors.empty());
}

AttentionOutputs AllOutputs(int64_t length) {
  AttentionOutputs outputs;
  outputs.output = Numbered(DType::kBFloat16, {1, 2, length, 3});
  outputs.weights = Numbered(DType::kFloat32, {1, 2, length, 3});
  outputs.log_sum_exp = Numbered(DType::kFloat64, {1, 2, length});
  return outputs;
}

TEST(ResponseTest, SerializesAttentionLikeProtobuf) {
  for (const int64_t length : {int64_t{0}, int64_t{1}, kLargeLength}) {
    ExpectWireOfProtobuf<v1::AttendResponse>(AllOutputs(length));
  }
}

TEST(ResponseTest, SerializesTablesLikeProtobuf) {
  for (const int64_t length : {int64_t{0}, int64_t{1}, kLargeLength}) {
    Encoding encoding;
    encoding.numbers = AdditiveEncoding{Numbered(DType::kFloat32, {length, 2})};
    encoding.output = Numbered(DType::kFloat16, {length, 2});
    ExpectWireOfProtobuf<v1::EncodeResponse>(std::move(encoding));
  }
}

TEST(ResponseTest, SerializesRotationsLikeProtobuf) {
  for (const int64_t length : {int64_t{0}, int64_t{1}, kLargeLength}) {
    Encoding encoding;
    encoding.numbers = RotationEncoding{Numbered(DType::kFloat32, {length, 2}),
                                        Numbered(DType::kFloat32, {length, 2}),
                                        {0.5, 0.25},
                                        1.5};
    encoding.output = Numbered(DType::kFloat16, {length, 2});
    ExpectWireOfProtobuf<v1::EncodeResponse>(std::move(encoding));
  }
}

TEST(ResponseTest, SerializesBiasesLikeProtobuf) {
  for (const int64_t length : {int64_t{0}, int64_t{1}, kLargeLength}) {
    Encoding encoding;
    encoding.numbers =
        BiasEncoding{Numbered(DType::kFloat32, {2, length, 1}), {0.5, 0.25}};
    ExpectWireOfProtobuf<v1::EncodeResponse>(std::move(encoding));
  }
}

TEST(ResponseTest, PreservesTensorValues) {
  AttentionOutputs outputs = AllOutputs(kLargeLength);
  const Tensor weights = *outputs.weights;
  Response<v1::AttendResponse> response;
  ToResponse(std::move(outputs), &response);
  v1::AttendResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(
      Flatten(ToWire(response.message, &response.tensors))));
  EXPECT_EQ(parsed.weights().dtype(), v1::DATA_TYPE_FLOAT32);
  const auto& shape = parsed.weights().shape();
  EXPECT_EQ(Shape(shape.begin(), shape.end()), weights.shape());
  EXPECT_EQ(parsed.weights().data(),
            std::string(weights.view().data, weights.byte_count()));
}

TEST(ResponseTest, DoesNotCopyLargeTensors) {
  AttentionOutputs outputs = AllOutputs(kLargeLength);
  const void* const computed = outputs.output.at(0);
  Response<v1::AttendResponse> response;
  ToResponse(std::move(outputs), &response);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(ToWire(response.message, &response.tensors).Dump(&slices).ok());
  EXPECT_TRUE(std::any_of(
      slices.begin(), slices.end(),
      [&](const grpc::Slice& slice) { return slice.begin() == computed; }));
}

TEST(ResponseTest, CopiesSmallTensorsIntoMessage) {
  AttentionOutputs outputs;
  outputs.output = Numbered(DType::kFloat32, {1, 1, 2, 3});
  Response<v1::AttendResponse> response;
  ToResponse(std::move(outputs), &response);
  EXPECT_TRUE(response.tensors.empty());
  EXPECT_EQ(response.message.output().data().size(), 24);
}

// Fails under the leak checker if the tensors are not freed.
TEST(ResponseTest, FreesTensorsThatAreNotSent) {
  Response<v1::AttendResponse> response;
  ToResponse(AllOutputs(kLargeLength), &response);
}

TEST(ResponseTest, SerializesMapsInKeyOrder) {
  v1::EvaluationCell cell, reversed;
  for (char c = 'a'; c <= 'z'; ++c) {
    (*cell.mutable_metrics())[std::string(1, c)] = 1;
    (*reversed.mutable_metrics())[std::string(1, 'a' + 'z' - c)] = 1;
  }
  ZeroCopyTensors none;
  EXPECT_EQ(Flatten(ToWire(cell, &none)), Flatten(ToWire(reversed, &none)));
}

TEST(ResponseTest, EmptyMessageIsValid) {
  ZeroCopyTensors none;
  const grpc::ByteBuffer wire = ToWire(v1::AttendResponse(), &none);
  EXPECT_TRUE(wire.Valid());
  EXPECT_EQ(wire.Length(), 0);
}

}  // namespace
}  // namespace locus::server
