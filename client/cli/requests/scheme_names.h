// Names of schemes as people write them.
//
// A scheme can be called by its name in the proto or by the first word of it
// (`t5` for t5_bias), by the name of one of its parameter groups (`yarn` for
// rope with YaRN), or by a name from the literature (`nope`, `rotary`). Case
// does not matter, and a hyphen counts as an underscore.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace locus::client {

// A scheme that a name stands for.
struct NamedScheme {
  // The field of the message Scheme.
  const google::protobuf::FieldDescriptor* kind = nullptr;
  // The group of parameters that the name stands for, a field of the scheme's
  // message; null if the name stands for the whole scheme.
  const google::protobuf::FieldDescriptor* group = nullptr;
};

// The scheme that `name` stands for; nullopt if there is none.
std::optional<NamedScheme> FindNamedScheme(absl::string_view name);

// The field of `message` with that name, in any case and with hyphens or
// underscores; null if there is none.
const google::protobuf::FieldDescriptor* FindFieldByAnyCase(
    const google::protobuf::Descriptor& message, absl::string_view name);

// The names of all schemes, in the order of the proto.
std::vector<std::string> SchemeNames();
// The names of the groups that can be used as schemes, such as `yarn`.
std::vector<std::string> SchemeGroupNames();
// The names of all fields of a message.
std::vector<std::string> FieldNames(
    const google::protobuf::Descriptor& message);

// The value of an enum that `name` stands for: its full name, or its name
// without the prefix that all values share; null if there is none. Case does
// not matter, and a hyphen counts as an underscore.
const google::protobuf::EnumValueDescriptor* FindChoice(
    const google::protobuf::EnumDescriptor& type, absl::string_view name);
// The error message for a value that FindChoice() does not find.
std::string UnknownChoiceMessage(const google::protobuf::FieldDescriptor& field,
                                 absl::string_view name);

// A correct text for a scheme with some of its parameters, such as
// "rope:base=10000,layout=half_split,yarn.factor=4". `group` selects the group
// of the example; the first one if it is empty. Empty if there is no such
// scheme.
std::string SchemeExample(absl::string_view scheme, absl::string_view group);

}  // namespace locus::client
