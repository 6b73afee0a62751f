// What goes over the wire is what Protobuf would have written.
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

// Small ones are copied, so these have to be large enough to be attached.
constexpr int64_t kLarge = 5000;

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

// The same message with the tensors in it, by way of what was written.
template <typename Response, typename Results>
void ExpectWireOfProtobuf(Results results) {
  Reply<Response> reply;
  ToReply(std::move(results), &reply);
  const int64_t size = WireSize(reply.message, reply.attachments);
  const std::string wire = Flatten(ToWire(reply.message, &reply.attachments));
  EXPECT_EQ(static_cast<int64_t>(wire.size()), size);
  Response parsed;
  ASSERT_TRUE(parsed.ParseFromString(wire));
  EXPECT_EQ(parsed.SerializeAsString(), wire);
  EXPECT_TRUE(reply.attachments.empty());
}

AttentionOutputs AllOutputs(int64_t length) {
  AttentionOutputs outputs;
  outputs.output = Numbered(DType::kBFloat16, {1, 2, length, 3});
  outputs.weights = Numbered(DType::kFloat32, {1, 2, length, 3});
  outputs.log_sum_exp = Numbered(DType::kFloat64, {1, 2, length});
  return outputs;
}

TEST(ReplyTest, AttentionIsWrittenAsProtobufWould) {
  for (const int64_t length : {int64_t{0}, int64_t{1}, kLarge}) {
    ExpectWireOfProtobuf<v1::AttendResponse>(AllOutputs(length));
  }
}

TEST(ReplyTest, TablesAreWrittenAsProtobufWould) {
  for (const int64_t length : {int64_t{0}, int64_t{1}, kLarge}) {
    Encoding encoding;
    encoding.numbers = AdditiveEncoding{Numbered(DType::kFloat32, {length, 2})};
    encoding.output = Numbered(DType::kFloat16, {length, 2});
    ExpectWireOfProtobuf<v1::EncodeResponse>(std::move(encoding));
  }
}

TEST(ReplyTest, RotationsAreWrittenAsProtobufWould) {
  for (const int64_t length : {int64_t{0}, int64_t{1}, kLarge}) {
    Encoding encoding;
    encoding.numbers = RotationEncoding{Numbered(DType::kFloat32, {length, 2}),
                                        Numbered(DType::kFloat32, {length, 2}),
                                        {0.5, 0.25},
                                        1.5};
    encoding.output = Numbered(DType::kFloat16, {length, 2});
    ExpectWireOfProtobuf<v1::EncodeResponse>(std::move(encoding));
  }
}

TEST(ReplyTest, BiasesAreWrittenAsProtobufWould) {
  for (const int64_t length : {int64_t{0}, int64_t{1}, kLarge}) {
    Encoding encoding;
    encoding.numbers =
        BiasEncoding{Numbered(DType::kFloat32, {2, length, 1}), {0.5, 0.25}};
    ExpectWireOfProtobuf<v1::EncodeResponse>(std::move(encoding));
  }
}

TEST(ReplyTest, TensorsKeepTheirValues) {
  AttentionOutputs outputs = AllOutputs(kLarge);
  const Tensor weights = *outputs.weights;
  Reply<v1::AttendResponse> reply;
  ToReply(std::move(outputs), &reply);
  v1::AttendResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(
      Flatten(ToWire(reply.message, &reply.attachments))));
  EXPECT_EQ(parsed.weights().dtype(), v1::DATA_TYPE_FLOAT32);
  const auto& shape = parsed.weights().shape();
  EXPECT_EQ(Shape(shape.begin(), shape.end()), weights.shape());
  EXPECT_EQ(parsed.weights().data(),
            std::string(weights.view().data, weights.byte_count()));
}

TEST(ReplyTest, LargeTensorsAreNotCopied) {
  AttentionOutputs outputs = AllOutputs(kLarge);
  const void* const computed = outputs.output.at(0);
  Reply<v1::AttendResponse> reply;
  ToReply(std::move(outputs), &reply);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(ToWire(reply.message, &reply.attachments).Dump(&slices).ok());
  EXPECT_TRUE(std::any_of(
      slices.begin(), slices.end(),
      [&](const grpc::Slice& slice) { return slice.begin() == computed; }));
}

TEST(ReplyTest, SmallTensorsLieInTheMessage) {
  AttentionOutputs outputs;
  outputs.output = Numbered(DType::kFloat32, {1, 1, 2, 3});
  Reply<v1::AttendResponse> reply;
  ToReply(std::move(outputs), &reply);
  EXPECT_TRUE(reply.attachments.empty());
  EXPECT_EQ(reply.message.output().data().size(), 24);
}

TEST(ReplyTest, WhatIsNeverSentIsFreed) {
  Reply<v1::AttendResponse> reply;
  ToReply(AllOutputs(kLarge), &reply);  // the leak checker looks
}

TEST(ReplyTest, MapsHaveOneOrder) {
  v1::EvaluationCell cell, reversed;
  for (char c = 'a'; c <= 'z'; ++c) {
    (*cell.mutable_metrics())[std::string(1, c)] = 1;
    (*reversed.mutable_metrics())[std::string(1, 'a' + 'z' - c)] = 1;
  }
  Attachments none;
  EXPECT_EQ(Flatten(ToWire(cell, &none)), Flatten(ToWire(reversed, &none)));
}

TEST(ReplyTest, AnEmptyMessageIsAMessage) {
  Attachments none;
  const grpc::ByteBuffer wire = ToWire(v1::AttendResponse(), &none);
  EXPECT_TRUE(wire.Valid());
  EXPECT_EQ(wire.Length(), 0);
}

}  // namespace
}  // namespace locus::server
