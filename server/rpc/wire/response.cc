#include "server/rpc/wire/response.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <string>
#include <utility>
#include <vector>

namespace locus::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::internal::WireFormat;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// Messages without zero-copy tensors are serialised into blocks of this size.
constexpr int kBlockBytes = 1 << 20;

// The fields that are set, ordered by number, which is the order in which
// protobuf serialises them.
std::vector<const FieldDescriptor*> FieldsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// The message in a singular field; null for any other field. Only singular
// fields contain zero-copy tensors.
const Message* SubmessageOf(const Message& message,
                            const FieldDescriptor* field) {
  if (field->is_repeated() ||
      field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return nullptr;
  }
  return &message.GetReflection()->GetMessage(message, field);
}

// Writes the tag and the length that precede length-delimited data.
void WritePrefix(int number, int64_t length, CodedOutputStream& out) {
  out.WriteTag(WireFormatLite::MakeTag(
      number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  out.WriteVarint32(static_cast<uint32_t>(length));
}

int64_t PrefixSize(int number, int64_t length) {
  return static_cast<int64_t>(
      WireFormatLite::TagSize(number, WireFormatLite::TYPE_BYTES) +
      CodedOutputStream::VarintSize64(static_cast<uint64_t>(length)));
}

// Serialises a message with zero-copy tensors except for their data, and
// records where the data must be inserted. Protobuf cannot do that, because
// each message is preceded by its length, which must include the data.
class ZeroCopyWriter {
 public:
  explicit ZeroCopyWriter(const ZeroCopyTensors& tensors) : tensors_(tensors) {}

  // The serialised size of `message`, including the data of its tensors.
  int64_t SizeOf(const Message& message) const {
    if (const int64_t size = tensors_.SizeFor(message); size > 0) {
      return static_cast<int64_t>(message.ByteSizeLong()) +
             PrefixSize(v1::Tensor::kDataFieldNumber, size) + size;
    }
    int64_t size = 0;
    for (const FieldDescriptor* field : FieldsOf(message)) {
      if (const Message* submessage = SubmessageOf(message, field)) {
        const int64_t content_size = SizeOf(*submessage);
        size += PrefixSize(field->number(), content_size) + content_size;
      } else {
        size += static_cast<int64_t>(WireFormat::FieldByteSize(field, message));
      }
    }
    return size;
  }

  // Serialises `message` except for the data of its tensors. Requires that
  // SizeOf(message) was called before, which caches sizes within the message.
  void Write(const Message& message, CodedOutputStream& out) {
    if (const int64_t size = tensors_.SizeFor(message); size > 0) {
      // `data` is the last field of a tensor.
      message.SerializeWithCachedSizes(&out);
      WritePrefix(v1::Tensor::kDataFieldNumber, size, out);
      insertions_.push_back({static_cast<size_t>(out.ByteCount()), &message});
      return;
    }
    for (const FieldDescriptor* field : FieldsOf(message)) {
      if (const Message* submessage = SubmessageOf(message, field)) {
        WritePrefix(field->number(), SizeOf(*submessage), out);
        Write(*submessage, out);
      } else {
        WireFormat::SerializeFieldWithCachedSizes(field, message, &out);
      }
    }
  }

  // The data of `tensor` must be inserted at `offset` of the written bytes.
  struct Insertion {
    size_t offset;
    const Message* tensor;
  };
  const std::vector<Insertion>& insertions() const { return insertions_; }

 private:
  const ZeroCopyTensors& tensors_;
  std::vector<Insertion> insertions_;
};

// Serialises a message without zero-copy tensors.
grpc::ByteBuffer PlainToWire(const Message& message) {
  const auto size = static_cast<int>(message.ByteSizeLong());
  if (size == 0) {
    const grpc::Slice empty;
    return {&empty, 1};
  }
  grpc::ByteBuffer wire;
  {
    grpc::ProtoBufferWriter blocks(&wire, kBlockBytes, size);
    CodedOutputStream out(&blocks);
    // Writes maps in the order of their keys.
    out.SetSerializationDeterministic(true);
    message.SerializeWithCachedSizes(&out);
  }
  return wire;
}

}  // namespace

void ZeroCopyTensors::Add(const v1::Tensor* tensor, AlignedBuffer<char> bytes,
                          int64_t size) {
  bytes_[tensor] = {std::move(bytes), size};
}

int64_t ZeroCopyTensors::SizeFor(const Message& message) const {
  const auto found = bytes_.find(&message);
  return found == bytes_.end() ? 0 : found->second.size;
}

grpc::Slice ZeroCopyTensors::Take(const Message& message) {
  auto taken = bytes_.extract(&message);
  auto& [buffer, size] = taken.mapped();
  return {buffer.Release(), static_cast<size_t>(size),
          &AlignedBuffer<char>::Free};
}

int64_t WireSize(const Message& message, const ZeroCopyTensors& tensors) {
  if (tensors.empty()) return static_cast<int64_t>(message.ByteSizeLong());
  return ZeroCopyWriter(tensors).SizeOf(message);
}

grpc::ByteBuffer ToWire(const Message& message, ZeroCopyTensors* tensors) {
  if (tensors->empty()) return PlainToWire(message);
  ZeroCopyWriter writer(*tensors);
  writer.SizeOf(message);
  std::string written;
  {
    google::protobuf::io::StringOutputStream stream(&written);
    CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    writer.Write(message, out);
  }
  const grpc::Slice framing(written);
  std::vector<grpc::Slice> slices;
  size_t begin = 0;
  for (const auto& [offset, tensor] : writer.insertions()) {
    slices.push_back(framing.sub(begin, offset));
    slices.push_back(tensors->Take(*tensor));
    begin = offset;
  }
  if (begin < framing.size())
    slices.push_back(framing.sub(begin, framing.size()));
  return {slices.data(), slices.size()};
}

}  // namespace locus::server
