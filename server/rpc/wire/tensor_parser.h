// Parses messages with large tensors.
//
// Up to 50 MB Protobuf's parser makes room for a string at once. Beyond, since
// it does not know whether the bytes will ever come, it grows the string step
// by step, and copies what it has at every step. Here all bytes are there
// already, and memory is reserved for them, so each is copied once, and into
// huge pages: see server/base/allocator.h.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

namespace locus::server {

// Up to this Protobuf's own parser does as well, with memory that is kept from
// call to call: see server/base/allocator.h.
inline constexpr int64_t kLargeBytes = int64_t{16} << 20;

// Does to `message`, which is empty, what ParseFromZeroCopyStream does for the
// `size` bytes of `wire`; repeated and unknown fields and what does not parse
// included. Slower where there are many small fields.
bool ParseLarge(google::protobuf::io::ZeroCopyInputStream* wire, int size,
                google::protobuf::Message* message);

}  // namespace locus::server
