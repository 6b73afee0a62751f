// Scheme messages, by reflection: the field that is set in the oneof names the
// scheme, and each field set in its message is an argument of that name. What a
// scheme takes is declared in core; tests hold the contract to it.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "core/encoding/schemes.h"
#include "server/convert.h"

namespace locus::server {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// ROPE_LAYOUT_HALF_SPLIT without what it shares with ROPE_LAYOUT_UNSPECIFIED.
std::string ShortName(const EnumValueDescriptor& value) {
  const std::string& zero = value.type()->value(0)->name();
  return value.name().substr(zero.size() - sizeof("UNSPECIFIED") + 1);
}

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
      return absl::InternalError(
          absl::StrCat("no argument can be of the type of ", field.name()));
  }
}

absl::StatusOr<Arguments> ToArguments(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  Arguments arguments;
  for (const FieldDescriptor* field : fields) {
    LOCUS_ASSIGN_OR_RETURN(Arguments::Value value, ToValue(message, *field));
    arguments.Set(field->name(), std::move(value));
  }
  return arguments;
}

std::string SchemeNames() {
  return absl::StrJoin(AllSchemes(), ", ",
                       [](std::string* out, const SchemeInfo& info) {
                         absl::StrAppend(out, info.name);
                       });
}

}  // namespace

int64_t SchemeBytes(const v1::Scheme& scheme) {
  constexpr int64_t kBytesPerByte =
      static_cast<int64_t>(sizeof(double)) / 2;  // halves are the smallest
  return kBytesPerByte * static_cast<int64_t>(scheme.ByteSizeLong());
}

absl::StatusOr<std::unique_ptr<Scheme>> ToScheme(const v1::Scheme& scheme) {
  const auto* kind = scheme.GetDescriptor()->FindOneofByName("kind");
  const FieldDescriptor* field =
      scheme.GetReflection()->GetOneofFieldDescriptor(scheme, kind);
  if (field == nullptr) {
    return InvalidField(
        "scheme", absl::StrCat("is not set; choose one of ", SchemeNames()));
  }
  const SchemeInfo* info = FindScheme(field->name());
  if (info == nullptr) {
    return absl::InternalError(
        absl::StrCat("core has no scheme ", field->name()));
  }
  const std::string prefix = absl::StrCat("scheme.", field->name());
  auto arguments =
      ToArguments(scheme.GetReflection()->GetMessage(scheme, field));
  if (!arguments.ok()) return Within(prefix, arguments.status());
  auto made = MakeScheme(*info, *std::move(arguments));
  if (!made.ok()) return Within("scheme", made.status());
  return made;
}

}  // namespace locus::server
