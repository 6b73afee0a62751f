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

// A string and its slot in a repeated field, an unknown field, or an element
// of a repeated number, with the allocator's share.
constexpr int64_t kFieldBytes = 96;
// The largest message of the contract, with the allocator's share.
constexpr int64_t kMessageBytes = 512;
constexpr int kMaxDepth = 100;
// Packed numbers are quick to parse, but not free: so many bytes of them count
// as a field. With 2^20 fields allowed, a list may have 16 MiB.
constexpr int64_t kPackedBytesPerField = 16;

// Protobuf's parser grows large strings by doubling, and holds the old half
// while it does; ParseLarge makes two copies on the way to the message.
int64_t StringBytes(int64_t length) { return kFieldBytes + 4 * length; }

// What ParseLarge reads at once.
bool IsBytes(const FieldDescriptor* field) {
  return field != nullptr && field->type() == FieldDescriptor::TYPE_BYTES &&
         !field->is_repeated();
}

// Repeated fields grow by doubling, and hold the old half while they do. A
// packed varint of one byte becomes eight.
int64_t PackedBytes(const FieldDescriptor& field, int64_t length) {
  const bool fixed = field.type() == FieldDescriptor::TYPE_DOUBLE;
  return kFieldBytes + (fixed ? 3 : 24) * length;
}

class Walker {
 public:
  Walker(CodedInputStream* wire, int64_t max_fields)
      : wire_(*wire), max_fields_(max_fields) {}

  // Whether the parser would go on.
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
        // Groups are unknown to the contract; their fields are counted as if
        // they stood here.
        size_.bytes += kFieldBytes;
        return true;
    }
  }

  bool Delimited(const FieldDescriptor* field, int depth) {
    uint32_t length = 0;
    if (!wire_.ReadVarint32(&length) || length > INT32_MAX) {
      size_.is_cut_short = true;
      return false;
    }
    if (field != nullptr &&
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const auto limit = wire_.PushLimit(static_cast<int>(length));
      const bool complete = Walk(field->message_type(), depth + 1);
      wire_.PopLimit(limit);
      return complete;
    }
    // What only claims to be there costs nothing.
    if (!wire_.Skip(static_cast<int>(length))) {
      size_.is_cut_short = true;
      return false;
    }
    if (field != nullptr && field->is_packable()) {
      size_.bytes += PackedBytes(*field, length);
      size_.fields += length / kPackedBytesPerField;
      if (size_.fields > max_fields_) return false;
    } else if (IsBytes(field)) {
      size_.bytes += kFieldBytes + length;
      size_.has_large_bytes |= length > kLargeBytes;
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

ParsedSize MeasureParsed(const Descriptor& type,
                         google::protobuf::io::ZeroCopyInputStream* wire,
                         int64_t max_fields) {
  CodedInputStream coded(wire);
  Walker walker(&coded, max_fields);
  walker.Walk(&type, 0);
  return walker.size();
}

}  // namespace locus::server
