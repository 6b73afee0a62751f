// How much memory a message will take once it is parsed.
//
// Parsed messages can be many times larger than what travels: an empty string
// in a repeated field is two bytes on the wire and dozens in memory. So that
// nobody gets gigabytes out of megabytes, the memory is reserved before the
// message is parsed, by this bound.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>

namespace locus::server {

struct ParsedSize {
  // An upper bound on what the parser allocates.
  int64_t bytes = 0;
  // A packed list is one field, however long.
  int64_t fields = 0;
  // Whether it has `bytes` that only ParseLarge copies no more than once.
  bool has_large_bytes = false;
  // Whether a field claims bytes that are not there: no parser need be asked,
  // and one would make room for them.
  bool is_cut_short = false;
};

// Walks over the tags of a message of `type`; the contents of strings and
// packed lists are skipped. Of malformed input it measures the part before the
// error, where a parser stops. Gives up beyond `max_fields`.
ParsedSize MeasureParsed(const google::protobuf::Descriptor& type,
                         google::protobuf::io::ZeroCopyInputStream* wire,
                         int64_t max_fields);

}  // namespace locus::server
