#include "tests/proto/contract.h"

#include "absl/strings/str_cat.h"

namespace locus {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

std::string TypeOf(const FieldDescriptor& field) {
  if (field.message_type() != nullptr) return field.message_type()->full_name();
  if (field.enum_type() != nullptr) return field.enum_type()->full_name();
  return field.type_name();
}

// The name of the oneof that contains a field; "none" if there is none.
std::string OneofOf(const FieldDescriptor& field) {
  const auto* const oneof = field.real_containing_oneof();
  return oneof == nullptr ? "none" : oneof->name();
}

// Compares one file with the pool of the later version.
class Comparison {
 public:
  explicit Comparison(const DescriptorPool& after) : after_(after) {}

  void Compare(const FileDescriptor& file) {
    for (int i = 0; i < file.message_type_count(); ++i) {
      CompareMessage(*file.message_type(i));
    }
    for (int i = 0; i < file.enum_type_count(); ++i) {
      CompareEnum(*file.enum_type(i));
    }
    for (int i = 0; i < file.service_count(); ++i) {
      CompareService(*file.service(i));
    }
  }

  std::vector<std::string> TakeChanges() { return std::move(changes_); }

 private:
  // Reports a removal if `descriptor` is null. Returns whether it is not null.
  bool ExpectExists(const void* descriptor, const std::string& name) {
    if (descriptor == nullptr) {
      changes_.push_back(absl::StrCat(name, " was removed"));
    }
    return descriptor != nullptr;
  }

  template <typename Value>
  void ExpectSame(const std::string& name, const char* attribute,
                  const Value& before, const Value& after) {
    if (before == after) return;
    changes_.push_back(
        absl::StrCat(name, ": ", attribute, " was ", before, ", is ", after));
  }

  void CompareMessage(const Descriptor& before) {
    const Descriptor* const after =
        after_.FindMessageTypeByName(before.full_name());
    if (!ExpectExists(after, before.full_name())) return;
    for (int i = 0; i < before.field_count(); ++i) {
      CompareField(*before.field(i),
                   after->FindFieldByName(before.field(i)->name()));
    }
    for (int i = 0; i < before.nested_type_count(); ++i) {
      CompareMessage(*before.nested_type(i));
    }
    for (int i = 0; i < before.enum_type_count(); ++i) {
      CompareEnum(*before.enum_type(i));
    }
  }

  void CompareField(const FieldDescriptor& before,
                    const FieldDescriptor* after) {
    const std::string& name = before.full_name();
    if (!ExpectExists(after, name)) return;
    ExpectSame(name, "number", before.number(), after->number());
    ExpectSame(name, "type", TypeOf(before), TypeOf(*after));
    ExpectSame(name, "repeated", before.is_repeated(), after->is_repeated());
    ExpectSame(name, "packed", before.is_packed(), after->is_packed());
    ExpectSame(name, "presence", before.has_presence(), after->has_presence());
    ExpectSame(name, "oneof", OneofOf(before), OneofOf(*after));
    ExpectSame(name, "JSON name", before.json_name(), after->json_name());
  }

  void CompareEnum(const EnumDescriptor& before) {
    const EnumDescriptor* const after =
        after_.FindEnumTypeByName(before.full_name());
    if (!ExpectExists(after, before.full_name())) return;
    for (int i = 0; i < before.value_count(); ++i) {
      const auto& value = *before.value(i);
      const auto* const now = after->FindValueByName(value.name());
      if (!ExpectExists(now, value.full_name())) continue;
      ExpectSame(value.full_name(), "number", value.number(), now->number());
    }
  }

  void CompareService(const ServiceDescriptor& before) {
    const ServiceDescriptor* const after =
        after_.FindServiceByName(before.full_name());
    if (!ExpectExists(after, before.full_name())) return;
    for (int i = 0; i < before.method_count(); ++i) {
      CompareMethod(*before.method(i),
                    after->FindMethodByName(before.method(i)->name()));
    }
  }

  void CompareMethod(const MethodDescriptor& before,
                     const MethodDescriptor* after) {
    const std::string& name = before.full_name();
    if (!ExpectExists(after, name)) return;
    ExpectSame(name, "request", before.input_type()->full_name(),
               after->input_type()->full_name());
    ExpectSame(name, "response", before.output_type()->full_name(),
               after->output_type()->full_name());
    ExpectSame(name, "client streaming", before.client_streaming(),
               after->client_streaming());
    ExpectSame(name, "server streaming", before.server_streaming(),
               after->server_streaming());
  }

  const DescriptorPool& after_;
  std::vector<std::string> changes_;
};

}  // namespace

std::vector<std::string> IncompatibleChanges(const FileDescriptor& before,
                                             const DescriptorPool& after) {
  Comparison comparison(after);
  comparison.Compare(before);
  return comparison.TakeChanges();
}

}  // namespace locus
