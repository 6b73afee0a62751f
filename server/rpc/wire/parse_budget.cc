#include "server/rpc/wire/parse_budget.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "server/rpc/wire/tensor_parser.h"

namespace locus::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Upper bound for a string and its slot in a repeated field, an unknown field,
// or an element of a repeated number, including the allocator's overhead.
constexpr int64_t kFieldBytes = 96;
// Upper bound for the largest message type of locus.v1, including the
// allocator's overhead.
constexpr int64_t kMessageBytes = 512;
// The recursion limit of protobuf's parser.
constexpr int kMaxDepth = 100;
// Packed numbers are quick to parse, but not free: this many bytes of them
// count as one field. With a limit of 2^20 fields, a packed list may have 16
// MiB.
constexpr int64_t kPackedBytesPerField = 16;

// Protobuf's parser grows large strings by doubling, and holds the old buffer
// while it copies. ParseLargeMessage() makes two temporary copies of a string.
int64_t StringBytes(int64_t length) { return kFieldBytes + 4 * length; }

// Whether ParseLargeMessage() allocates the field at once, with its exact size.
bool IsBytes(const FieldDescriptor* field) {
  return field != nullptr && field->type() == FieldDescriptor::TYPE_BYTES &&
         !field->is_repeated();
}

// Repeated fields grow by doubling, and hold the old buffer while they copy. A
// packed varint of one byte takes eight bytes in memory.
int64_t PackedBytes(const FieldDescriptor& field, int64_t length) {
  const bool fixed = field.type() == FieldDescriptor::TYPE_DOUBLE;
  return kFieldBytes + (fixed ? 3 : 24) * length;
}

// Walks over the tags of a message, and adds up the memory of its fields.
class Walker {
 public:
  Walker(CodedInputStream* wire, int64_t max_fields)
      : wire_(*wire), max_fields_(max_fields) {}

  // Walks to the end of a message of `type`. False if a parser would stop
  // earlier, or the maximum number of fields is exceeded.
  bool Walk(const Descriptor* type, int depth) {
    size_.bytes += kMessageBytes;
    if (depth > kMaxDepth) return false;
    while (const uint32_t tag = wire_.ReadTag()) {
      if (++size_.fields > max_fields_ || !Field(type, tag, depth))
        return false;
    }
    return true;
  }

  const ParsedSize& size() const { return size_; }

 private:
  bool Field(const Descriptor* type, uint32_t tag, int depth) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    uint64_t ignored = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        size_.bytes += kFieldBytes;
        return wire_.ReadVarint64(&ignored);
      case WireFormatLite::WIRETYPE_FIXED64:
        size_.bytes += kFieldBytes;
        return wire_.Skip(8);
      case WireFormatLite::WIRETYPE_FIXED32:
        size_.bytes += kFieldBytes;
        return wire_.Skip(4);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return Delimited(type->FindFieldByNumber(number), depth);
      default:
        // No message of locus.v1 has groups. The fields of an unknown group
        // are counted as fields of this message.
        size_.bytes += kFieldBytes;
        return true;
    }
  }

  bool Delimited(const FieldDescriptor* field, int depth) {
    uint32_t length = 0;
    if (!wire_.ReadVarint32(&length) || length > INT32_MAX) {
      size_.is_truncated = true;
      return false;
    }
    if (field != nullptr &&
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const auto limit = wire_.PushLimit(static_cast<int>(length));
      const bool complete = Walk(field->message_type(), depth + 1);
      wire_.PopLimit(limit);
      return complete;
    }
    // Bytes that were announced but not sent take no memory.
    if (!wire_.Skip(static_cast<int>(length))) {
      size_.is_truncated = true;
      return false;
    }
    if (field != nullptr && field->is_packable()) {
      size_.bytes += PackedBytes(*field, length);
      size_.fields += length / kPackedBytesPerField;
      if (size_.fields > max_fields_) return false;
    } else if (IsBytes(field)) {
      size_.bytes += kFieldBytes + length;
      size_.has_large_bytes |= length > kLargeTensorBytes;
    } else {
      size_.bytes += StringBytes(length);
    }
    return true;
  }

  CodedInputStream& wire_;
  const int64_t max_fields_;
  ParsedSize size_;
};

}  // namespace

ParsedSize BoundParsedSize(const Descriptor& type,
                           google::protobuf::io::ZeroCopyInputStream* wire,
                           int64_t max_fields) {
  CodedInputStream coded(wire);
  Walker walker(&coded, max_fields);
  walker.Walk(&type, 0);
  return walker.size();
}

}  // namespace locus::server
