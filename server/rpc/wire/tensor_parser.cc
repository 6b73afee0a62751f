#include "server/rpc/wire/tensor_parser.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>
#include <utility>

#include "server/base/allocator.h"

namespace locus::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// Reads a length prefix. Fails if fewer bytes than that are left.
bool ReadLength(CodedInputStream& wire, int* length) {
  uint32_t read = 0;
  if (!wire.ReadVarint32(&read) || read > INT32_MAX) return false;
  *length = static_cast<int>(read);
  return *length <= wire.BytesUntilLimit();
}

bool ReadBytes(CodedInputStream& wire, Message* message,
               const FieldDescriptor* field) {
  int length = 0;
  std::string bytes;
  if (!ReadLength(wire, &length)) return false;
  bytes.reserve(length);
  PreferHugePages(bytes.data(), bytes.capacity());
  if (!wire.ReadString(&bytes, length)) return false;
  message->GetReflection()->SetString(message, field, std::move(bytes));
  return true;
}

bool Merge(CodedInputStream& wire, Message* message);

bool ReadMessage(CodedInputStream& wire, Message* message,
                 const FieldDescriptor* field) {
  int length = 0;
  if (!ReadLength(wire, &length) || !wire.IncrementRecursionDepth()) {
    return false;
  }
  const Reflection& reflection = *message->GetReflection();
  const auto limit = wire.PushLimit(length);
  const bool merged = Merge(
      wire, field->is_repeated() ? reflection.AddMessage(message, field)
                                 : reflection.MutableMessage(message, field));
  wire.PopLimit(limit);
  wire.DecrementRecursionDepth();
  return merged;
}

// Copies one field of any other type and parses it with protobuf's parser.
bool ReadOther(CodedInputStream& wire, Message* message, uint32_t tag) {
  std::string field;
  {
    google::protobuf::io::StringOutputStream stream(&field);
    CodedOutputStream copy(&stream);
    if (!WireFormatLite::SkipField(&wire, tag, &copy)) return false;
  }
  return message->MergeFromString(field);
}

bool Merge(CodedInputStream& wire, Message* message) {
  while (const uint32_t tag = wire.ReadTag()) {
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByNumber(
        WireFormatLite::GetTagFieldNumber(tag));
    const bool known =
        field != nullptr && WireFormatLite::GetTagWireType(tag) ==
                                WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    bool read = false;
    if (known && field->type() == FieldDescriptor::TYPE_MESSAGE &&
        !field->is_map()) {
      read = ReadMessage(wire, message, field);
    } else if (known && field->type() == FieldDescriptor::TYPE_BYTES &&
               !field->is_repeated()) {
      read = ReadBytes(wire, message, field);
    } else {
      read = ReadOther(wire, message, tag);
    }
    if (!read) return false;
  }
  return wire.ConsumedEntireMessage();
}

}  // namespace

bool ParseLargeMessage(google::protobuf::io::ZeroCopyInputStream* wire,
                       int size, Message* message) {
  CodedInputStream coded(wire);
  coded.PushLimit(size);
  return Merge(coded, message);
}

}  // namespace locus::server
