// Parses messages with tensors that Protobuf's parser is too careful for.
//
// Up to 50 MB it makes room for a string at once. Beyond, since it does not
// know whether the bytes will ever come, it grows the string step by step, and
// copies what it has at every step. Here all bytes are there already, and
// memory is reserved for them, so each is copied once.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

namespace locus::server {

// The longest string that Protobuf's parser makes room for at once.
inline constexpr int64_t kLargeBytes = 50'000'000;

// Does to `message`, which is empty, what ParseFromZeroCopyStream does for the
// `size` bytes of `wire`; repeated and unknown fields and what does not parse
// included. Slower where there are many small fields.
bool ParseLarge(google::protobuf::io::ZeroCopyInputStream* wire, int size,
                google::protobuf::Message* message);

}  // namespace locus::server
