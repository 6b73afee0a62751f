// Conversion of scheme messages, by reflection. The field that is set in the
// oneof names the scheme. Each field that is set in its message is an argument
// of the same name, and fields of a nested message are arguments such as
// `yarn.factor`. Core declares the parameters of each scheme; convert_test.cc
// checks that core and proto agree.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "server/services/convert/convert.h"

namespace locus::server {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The name of an enum value without the prefix of its type: HALF_SPLIT for
// ROPE_LAYOUT_HALF_SPLIT.
std::string ShortName(const EnumValueDescriptor& value) {
  const std::string& zero = value.type()->value(0)->name();
  return value.name().substr(zero.size() - sizeof("UNSPECIFIED") + 1);
}

// The name of an enum value; an error if the enum has no such value.
absl::StatusOr<Arguments::Value> ToChoice(const EnumDescriptor& type,
                                          int number,
                                          const std::string& field) {
  if (const auto* value = type.FindValueByNumber(number); value != nullptr) {
    return ShortName(*value);
  }
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i) {
    names.push_back(ShortName(*type.value(i)));
  }
  return InvalidField(field, absl::StrCat("is ", number, "; must be one of ",
                                          absl::StrJoin(names, ", ")));
}

// The value of a field, as an argument.
absl::StatusOr<Arguments::Value> ToValue(const Message& message,
                                         const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    const auto numbers =
        reflection.GetRepeatedFieldRef<double>(message, &field);
    return std::vector<double>(numbers.begin(), numbers.end());
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return ToChoice(*field.enum_type(),
                      reflection.GetEnumValue(message, &field), field.name());
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      auto view = ToTensorView(static_cast<const v1::Tensor&>(
          reflection.GetMessage(message, &field)));
      if (!view.ok()) return Within(field.name(), view.status());
      return *std::move(view);
    }
    default:
      return absl::InternalError(absl::StrCat(
          "the type of the field ", field.name(), " cannot be an argument"));
  }
}

// Whether a field is a nested message of arguments, not a tensor.
bool IsGroup(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type() != v1::Tensor::descriptor();
}

// Adds the fields that are set in a message to `arguments`, with `prefix`
// before their names.
absl::Status AddArguments(const Message& message, const std::string& prefix,
                          Arguments& arguments) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = absl::StrCat(prefix, field->name());
    if (IsGroup(*field)) {
      arguments.Set(name, true);
      const auto& group = message.GetReflection()->GetMessage(message, field);
      LOCUS_RETURN_IF_ERROR(
          AddArguments(group, absl::StrCat(name, "."), arguments));
      continue;
    }
    auto value = ToValue(message, *field);
    if (!value.ok()) {
      return prefix.empty()
                 ? value.status()
                 : Within(prefix.substr(0, prefix.size() - 1), value.status());
    }
    arguments.Set(name, *std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<Arguments> ToArguments(const Message& message) {
  Arguments arguments;
  LOCUS_RETURN_IF_ERROR(AddArguments(message, "", arguments));
  return arguments;
}

std::string SchemeNames() {
  return absl::StrJoin(AllSchemes(), ", ",
                       [](std::string* out, const SchemeInfo& info) {
                         absl::StrAppend(out, info.name);
                       });
}

// A scheme and its arguments, before defaults and checks.
struct SchemeArguments {
  const SchemeInfo* info;
  Arguments arguments;
};

// Reads a scheme message. Field paths in errors begin with `field`.
absl::StatusOr<SchemeArguments> ReadScheme(const v1::Scheme& scheme,
                                           absl::string_view field) {
  const auto* kind = scheme.GetDescriptor()->FindOneofByName("kind");
  const FieldDescriptor* set =
      scheme.GetReflection()->GetOneofFieldDescriptor(scheme, kind);
  if (set == nullptr) {
    return InvalidField(
        field, absl::StrCat("is not set; choose one of ", SchemeNames()));
  }
  const SchemeInfo* info = FindScheme(set->name());
  if (info == nullptr) {
    return absl::InternalError(
        absl::StrCat("core has no scheme ", set->name()));
  }
  auto arguments = ToArguments(scheme.GetReflection()->GetMessage(scheme, set));
  if (!arguments.ok()) {
    return Within(absl::StrCat(field, ".", set->name()), arguments.status());
  }
  return SchemeArguments{info, *std::move(arguments)};
}

// Creates the scheme. Field paths in errors begin with the scheme's name.
absl::StatusOr<ResolvedScheme> Resolve(SchemeArguments given,
                                       const TrainingSetting* setting) {
  ResolvedScheme resolved;
  resolved.info = given.info;
  resolved.arguments = given.arguments;
  LOCUS_ASSIGN_OR_RETURN(
      resolved.scheme,
      MakeScheme(*given.info, std::move(given.arguments), setting));
  // MakeScheme() has set these defaults in its own copy of the arguments.
  if (setting != nullptr && resolved.info->apply_training_defaults != nullptr) {
    resolved.info->apply_training_defaults(*setting, &resolved.arguments);
  }
  LOCUS_RETURN_IF_ERROR(resolved.arguments.Check(resolved.info->parameters));
  return resolved;
}

}  // namespace

int64_t SchemeBytes(const v1::Scheme& scheme) {
  // A table of 16-bit floats, the smallest type, is converted to double.
  constexpr int64_t kBytesPerByte = static_cast<int64_t>(sizeof(double)) / 2;
  return kBytesPerByte * static_cast<int64_t>(scheme.ByteSizeLong());
}

absl::StatusOr<Randomization> ToRandomization(
    const v1::RandomizedPositions& given, int64_t default_maximum) {
  Randomization randomization;
  randomization.maximum =
      given.has_maximum() ? given.maximum() : default_maximum;
  randomization.seed = given.seed();
  constexpr int64_t kLargest = int64_t{1} << 53;
  if (randomization.maximum < 1 || randomization.maximum > kLargest) {
    return InvalidField("maximum",
                        absl::StrCat("is ", randomization.maximum,
                                     "; must be from 1 to ", kLargest));
  }
  return randomization;
}

absl::StatusOr<std::unique_ptr<Scheme>> ToScheme(
    const v1::Scheme& scheme, const TrainingSetting* setting) {
  LOCUS_ASSIGN_OR_RETURN(SchemeArguments given, ReadScheme(scheme, "scheme"));
  auto made = MakeScheme(*given.info, std::move(given.arguments), setting);
  if (!made.ok()) return Within("scheme", made.status());
  if (scheme.has_layers()) {
    return InvalidField("scheme.layers",
                        "is set; only trained evaluations have layers");
  }
  if (scheme.has_randomized()) {
    const auto randomization =
        ToRandomization(scheme.randomized(), Randomization().maximum);
    if (!randomization.ok()) {
      return Within("scheme.randomized", randomization.status());
    }
    (*made)->Randomize(*randomization);
  }
  return made;
}

absl::StatusOr<ResolvedScheme> ResolveScheme(const v1::Scheme& scheme,
                                             const TrainingSetting* setting,
                                             absl::string_view field) {
  LOCUS_ASSIGN_OR_RETURN(SchemeArguments given, ReadScheme(scheme, field));
  auto resolved = Resolve(std::move(given), setting);
  if (!resolved.ok()) return Within(field, resolved.status());
  return resolved;
}

absl::StatusOr<ResolvedScheme> ResolveScheme(const SchemeInfo& info,
                                             const TrainingSetting* setting,
                                             Arguments arguments) {
  return Resolve(SchemeArguments{&info, std::move(arguments)}, setting);
}

}  // namespace locus::server
