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

// Messages without attachments are sent in pieces of this size, the last one
// less.
constexpr int kPieceBytes = 1 << 20;

// In the order of their numbers, which is Protobuf's own.
std::vector<const FieldDescriptor*> FieldsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// The message in a field, if that is where attachments can be.
const Message* PartOf(const Message& message, const FieldDescriptor* field) {
  if (field->is_repeated() ||
      field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return nullptr;
  }
  return &message.GetReflection()->GetMessage(message, field);
}

void WriteHead(int number, int64_t length, CodedOutputStream& out) {
  out.WriteTag(WireFormatLite::MakeTag(
      number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  out.WriteVarint32(static_cast<uint32_t>(length));
}

int64_t HeadSize(int number, int64_t length) {
  return static_cast<int64_t>(
      WireFormatLite::TagSize(number, WireFormatLite::TYPE_BYTES) +
      CodedOutputStream::VarintSize64(static_cast<uint64_t>(length)));
}

// Writes a message that has attachments as Protobuf would if they lay in it.
// Protobuf itself cannot: the length of a message stands before its content.
class Writer {
 public:
  explicit Writer(const Attachments& attachments) : attachments_(attachments) {}

  int64_t SizeOf(const Message& message) const {
    if (const int64_t size = attachments_.SizeFor(message); size > 0) {
      return static_cast<int64_t>(message.ByteSizeLong()) +
             HeadSize(v1::Tensor::kDataFieldNumber, size) + size;
    }
    int64_t size = 0;
    for (const FieldDescriptor* field : FieldsOf(message)) {
      if (const Message* part = PartOf(message, field)) {
        const int64_t part_size = SizeOf(*part);
        size += HeadSize(field->number(), part_size) + part_size;
      } else {
        size += static_cast<int64_t>(WireFormat::FieldByteSize(field, message));
      }
    }
    return size;
  }

  // SizeOf must have been called: it leaves sizes in the message.
  void Write(const Message& message, CodedOutputStream& out) {
    if (const int64_t size = attachments_.SizeFor(message); size > 0) {
      // `data` is the last of a tensor's fields.
      message.SerializeWithCachedSizes(&out);
      WriteHead(v1::Tensor::kDataFieldNumber, size, out);
      cuts_.push_back({static_cast<size_t>(out.ByteCount()), &message});
      return;
    }
    for (const FieldDescriptor* field : FieldsOf(message)) {
      if (const Message* part = PartOf(message, field)) {
        WriteHead(field->number(), SizeOf(*part), out);
        Write(*part, out);
      } else {
        WireFormat::SerializeFieldWithCachedSizes(field, message, &out);
      }
    }
  }

  // Where the bytes of whose data belong into what was written.
  struct Cut {
    size_t offset;
    const Message* tensor;
  };
  const std::vector<Cut>& cuts() const { return cuts_; }

 private:
  const Attachments& attachments_;
  std::vector<Cut> cuts_;
};

grpc::ByteBuffer WholeToWire(const Message& message) {
  const auto size = static_cast<int>(message.ByteSizeLong());
  if (size == 0) {
    const grpc::Slice nothing;
    return {&nothing, 1};
  }
  grpc::ByteBuffer wire;
  {
    grpc::ProtoBufferWriter pieces(&wire, kPieceBytes, size);
    CodedOutputStream out(&pieces);
    // Maps are written in an order of their own otherwise.
    out.SetSerializationDeterministic(true);
    message.SerializeWithCachedSizes(&out);
  }
  return wire;
}

}  // namespace

void Attachments::Add(const v1::Tensor* tensor, AlignedBuffer<char> bytes,
                      int64_t size) {
  bytes_[tensor] = {std::move(bytes), size};
}

int64_t Attachments::SizeFor(const Message& message) const {
  const auto found = bytes_.find(&message);
  return found == bytes_.end() ? 0 : found->second.size;
}

grpc::Slice Attachments::Take(const Message& message) {
  auto taken = bytes_.extract(&message);
  auto& [buffer, size] = taken.mapped();
  return {buffer.Release(), static_cast<size_t>(size),
          &AlignedBuffer<char>::Free};
}

int64_t WireSize(const Message& message, const Attachments& attachments) {
  if (attachments.empty()) return static_cast<int64_t>(message.ByteSizeLong());
  return Writer(attachments).SizeOf(message);
}

grpc::ByteBuffer ToWire(const Message& message, Attachments* attachments) {
  if (attachments->empty()) return WholeToWire(message);
  Writer writer(*attachments);
  writer.SizeOf(message);
  std::string written;
  {
    google::protobuf::io::StringOutputStream stream(&written);
    CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    writer.Write(message, out);
  }
  const grpc::Slice around(written);
  std::vector<grpc::Slice> slices;
  size_t begin = 0;
  for (const auto& [offset, tensor] : writer.cuts()) {
    slices.push_back(around.sub(begin, offset));
    slices.push_back(attachments->Take(*tensor));
    begin = offset;
  }
  if (begin < around.size()) slices.push_back(around.sub(begin, around.size()));
  return {slices.data(), slices.size()};
}

}  // namespace locus::server
