// A parser for messages with large tensors.
//
// Protobuf's parser allocates a `bytes` field at once only up to 50 MB. Above
// that it grows the string step by step, and copies the data at every step,
// because it cannot know whether all bytes will arrive. Here all bytes of the
// message have arrived and memory is reserved for them, so that each field is
// allocated at once, in huge pages (see server/base/allocator.h), and each byte
// is copied once.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

namespace locus::server {

// Messages with a `bytes` field larger than this are worth this parser. For
// smaller ones protobuf's parser is as fast, because the allocator keeps that
// memory between calls (see server/base/allocator.h).
inline constexpr int64_t kLargeTensorBytes = int64_t{16} << 20;

// Parses the `size` bytes of `wire` into `message`, which must be empty. Same
// result as ParseFromZeroCopyStream(), including repeated and unknown fields
// and malformed input, but slower for messages with many small fields.
bool ParseLargeMessage(google::protobuf::io::ZeroCopyInputStream* wire,
                       int size, google::protobuf::Message* message);

}  // namespace locus::server
