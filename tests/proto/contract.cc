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

std::string OneofOf(const FieldDescriptor& field) {
  const auto* const oneof = field.real_containing_oneof();
  return oneof == nullptr ? "none" : oneof->name();
}

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

  std::vector<std::string> TakeBreaches() { return std::move(breaches_); }

 private:
  // Reports a thing that is gone; true if it is there.
  bool Expect(const void* thing, const std::string& name) {
    if (thing == nullptr) breaches_.push_back(absl::StrCat(name, " is gone"));
    return thing != nullptr;
  }

  template <typename Value>
  void ExpectSame(const std::string& name, const char* what,
                  const Value& before, const Value& after) {
    if (before == after) return;
    breaches_.push_back(
        absl::StrCat(name, ": ", what, " was ", before, ", is ", after));
  }

  void CompareMessage(const Descriptor& before) {
    const Descriptor* const after =
        after_.FindMessageTypeByName(before.full_name());
    if (!Expect(after, before.full_name())) return;
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
    if (!Expect(after, name)) return;
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
    if (!Expect(after, before.full_name())) return;
    for (int i = 0; i < before.value_count(); ++i) {
      const auto& value = *before.value(i);
      const auto* const now = after->FindValueByName(value.name());
      if (!Expect(now, value.full_name())) continue;
      ExpectSame(value.full_name(), "number", value.number(), now->number());
    }
  }

  void CompareService(const ServiceDescriptor& before) {
    const ServiceDescriptor* const after =
        after_.FindServiceByName(before.full_name());
    if (!Expect(after, before.full_name())) return;
    for (int i = 0; i < before.method_count(); ++i) {
      CompareMethod(*before.method(i),
                    after->FindMethodByName(before.method(i)->name()));
    }
  }

  void CompareMethod(const MethodDescriptor& before,
                     const MethodDescriptor* after) {
    const std::string& name = before.full_name();
    if (!Expect(after, name)) return;
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
  std::vector<std::string> breaches_;
};

}  // namespace

std::vector<std::string> BrokenPromises(const FileDescriptor& before,
                                        const DescriptorPool& after) {
  Comparison comparison(after);
  comparison.Compare(before);
  return comparison.TakeBreaches();
}

}  // namespace locus
