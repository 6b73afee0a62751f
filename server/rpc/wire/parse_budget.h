// An upper bound of the memory that parsing a message allocates.
//
// A parsed message can be many times larger than its wire format: an empty
// string in a repeated field takes two bytes on the wire and dozens in memory.
// The server therefore reserves memory by this bound before it parses a
// request, so that a request of megabytes cannot allocate gigabytes.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>

namespace locus::server {

struct ParsedSize {
  // Upper bound of the bytes that the parser allocates.
  int64_t bytes = 0;
  // The number of fields. 16 bytes of a packed list count as one more field.
  int64_t fields = 0;
  // Whether a `bytes` field is so large that the message should be parsed by
  // ParseLargeMessage(), which copies it only once.
  bool has_large_bytes = false;
  // Whether the message ends before a length that it announces. Such a message
  // does not parse, and must not be parsed: a parser may allocate the announced
  // length first.
  bool is_truncated = false;
};

// Walks over the tags of a message of `type`, and skips the contents of strings
// and packed lists. Malformed input is measured up to the error, where a parser
// stops. Stops when the message has more than `max_fields` fields.
ParsedSize BoundParsedSize(const google::protobuf::Descriptor& type,
                           google::protobuf::io::ZeroCopyInputStream* wire,
                           int64_t max_fields);

}  // namespace locus::server
