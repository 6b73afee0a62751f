// Parsing of schemes on the command line. A scheme is written in one of three
// ways, with any of the names of client/cli/requests/scheme_names.h:
//
//   rope                                  a name: a scheme with its defaults
//   rope:base=500000,yarn.factor=4        the short form; see
//   rope(base=5e5, yarn.factor=4) client/cli/requests/scheme_short_form.h rope
//   { base: 500000 yarn { factor: 4 } }   protobuf text format
//
// In protobuf text format, enum values may be written without their prefix.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "locus/v1/scheme.pb.h"

namespace locus::client {

// A scheme, and the fields that its text sets, at any depth. A field that is
// set to its default value is one of them.
struct ParsedScheme {
  v1::Scheme scheme;
  std::set<const google::protobuf::FieldDescriptor*> given;
};

// Parses a scheme. Returns INVALID_ARGUMENT with the column of the first error
// and the names that are allowed there, and with an excerpt of the text for
// ErrorExcerpt().
absl::StatusOr<ParsedScheme> ParseSchemeText(const std::string& text);

// Like ParseSchemeText(), and returns only the scheme.
absl::StatusOr<v1::Scheme> ParseScheme(const std::string& text);

// The name of a scheme; empty if none is set.
std::string SchemeName(const v1::Scheme& scheme);

// Sets the table of the scheme. Returns INVALID_ARGUMENT if the scheme takes
// none.
absl::Status SetTable(const v1::Tensor& table, v1::Scheme* scheme);

}  // namespace locus::client
