#include "server/services/convert/convert.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using google::protobuf::FieldDescriptor;

v1::Tensor MakeTensor(v1::DataType dtype, std::vector<int64_t> shape,
                      std::string data) {
  v1::Tensor tensor;
  tensor.set_dtype(dtype);
  for (const int64_t extent : shape) tensor.add_shape(extent);
  tensor.set_data(std::move(data));
  return tensor;
}

// Whether a field can hold a parameter of that kind.
bool Fits(ParameterKind kind, const FieldDescriptor& field) {
  if (field.is_repeated()) {
    return kind == ParameterKind::kNumbers &&
           field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
  }
  // Zero is a valid number and integer, so their fields must track presence.
  switch (kind) {
    case ParameterKind::kNumber:
      return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE &&
             field.has_presence();
    case ParameterKind::kInteger:
      return field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 &&
             field.has_presence();
    case ParameterKind::kFlag:
      return field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
    case ParameterKind::kChoice:
      return field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
    case ParameterKind::kTensor:
      return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
             field.message_type() == v1::Tensor::descriptor();
    case ParameterKind::kSeed:
      return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
    case ParameterKind::kGroup:
      return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
             field.message_type() != v1::Tensor::descriptor() &&
             field.containing_oneof() != nullptr;
    default:
      return false;
  }
}

// The field of a parameter. `yarn.factor` is a field of a nested message.
const FieldDescriptor* FieldOfParameter(
    const google::protobuf::Descriptor& scheme, const std::string& name) {
  const google::protobuf::Descriptor* message = &scheme;
  const FieldDescriptor* field = nullptr;
  for (const std::string& part :
       std::vector<std::string>(absl::StrSplit(name, '.'))) {
    field = message->FindFieldByName(part);
    if (field == nullptr) return nullptr;
    message = field->message_type();
  }
  return field;
}

// The number of fields of a message, including those of its nested messages.
size_t FieldCount(const google::protobuf::Descriptor& message) {
  size_t count = message.field_count();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (Fits(ParameterKind::kGroup, field)) {
      count += FieldCount(*field.message_type());
    }
  }
  return count;
}

TEST(ConvertSchemeTest, CoreAndProtoDeclareTheSameSchemes) {
  for (const SchemeInfo& info : AllSchemes()) {
    const FieldDescriptor* field =
        v1::Scheme::descriptor()->FindFieldByName(std::string(info.name));
    ASSERT_NE(field, nullptr) << info.name;
    for (const Parameter& parameter : info.parameters) {
      const FieldDescriptor* argument =
          FieldOfParameter(*field->message_type(), parameter.name);
      ASSERT_NE(argument, nullptr) << info.name << "." << parameter.name;
      EXPECT_TRUE(Fits(parameter.kind, *argument)) << argument->full_name();
      if (parameter.kind == ParameterKind::kGroup) {
        EXPECT_EQ(argument->containing_oneof()->name(), parameter.category);
      }
      // A flag that is true by default must track presence, so that false can
      // be distinguished from unset.
      if (parameter.Default() == "true") {
        EXPECT_TRUE(argument->has_presence());
      }
    }
    EXPECT_EQ(FieldCount(*field->message_type()), info.parameters.size())
        << info.name << " has more parameters in the proto than in core";
  }
  const auto* kinds = v1::Scheme::descriptor()->FindOneofByName("kind");
  EXPECT_EQ(static_cast<size_t>(kinds->field_count()), AllSchemes().size());
}

TEST(ConvertSchemeTest, ChoicesMatchEnumValuesInOrder) {
  for (const SchemeInfo& info : AllSchemes()) {
    for (const Parameter& parameter : info.parameters) {
      if (parameter.kind != ParameterKind::kChoice) continue;
      const auto* type =
          FieldOfParameter(*v1::Scheme::descriptor()
                                ->FindFieldByName(std::string(info.name))
                                ->message_type(),
                           parameter.name)
              ->enum_type();
      ASSERT_EQ(type->value_count() - 1,
                static_cast<int>(parameter.choices.size()));
      for (int i = 1; i < type->value_count(); ++i) {
        EXPECT_TRUE(type->value(i)->name().ends_with(
            absl::StrCat("_", parameter.choices[i - 1])));
      }
    }
  }
}

TEST(ConvertSchemeTest, CreatesEverySchemeWithDefaults) {
  for (const SchemeInfo& info : AllSchemes()) {
    v1::Scheme scheme;
    const FieldDescriptor* field =
        scheme.GetDescriptor()->FindFieldByName(std::string(info.name));
    scheme.GetReflection()->MutableMessage(&scheme, field);
    EXPECT_TRUE(ToScheme(scheme).ok()) << info.name;
  }
}

TEST(ConvertSchemeTest, NestedFieldsBecomeDottedArguments) {
  v1::Scheme scheme;
  scheme.mutable_rope()->mutable_yarn()->set_factor(4);
  const auto resolved = ResolveScheme(scheme, nullptr, "scheme");
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_TRUE(resolved->arguments.Has("yarn"));
  EXPECT_EQ(resolved->arguments.Number("yarn.factor"), 4);
  EXPECT_EQ(resolved->arguments.Number("yarn.beta_fast"), 32);
  EXPECT_TRUE(resolved->arguments.Flag("yarn.truncate"));
  EXPECT_FALSE(resolved->arguments.Has("llama3.factor"));
}

TEST(ConvertSchemeTest, EmptyNestedMessageCountsAsSet) {
  v1::Scheme scheme;
  scheme.mutable_rope()->mutable_llama3();
  const auto resolved = ResolveScheme(scheme, nullptr, "scheme");
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->arguments.Number("llama3.factor"), 8);
}

TEST(ConvertSchemeTest, ErrorsInNestedMessagesHaveFullPath) {
  v1::Scheme scheme;
  scheme.mutable_rope()->mutable_yarn()->set_factor(0);
  EXPECT_EQ(FieldOf(ToScheme(scheme).status()), "scheme.rope.yarn.factor");
  scheme.mutable_rope()->mutable_llama3()->set_high_freq_factor(0.5);
  EXPECT_EQ(FieldOf(ToScheme(scheme).status()),
            "scheme.rope.llama3.high_freq_factor");
  scheme.mutable_rope()->mutable_longrope()->add_long_factors(0);
  EXPECT_EQ(FieldOf(ToScheme(scheme).status()),
            "scheme.rope.longrope.long_factors[0]");
}

TEST(ConvertSchemeTest, ErrorsHaveFullPath) {
  v1::Scheme scheme;
  EXPECT_EQ(FieldOf(ToScheme(scheme).status()), "scheme");
  scheme.mutable_rope()->set_base(-1);
  EXPECT_EQ(FieldOf(ToScheme(scheme).status()), "scheme.rope.base");
  scheme.mutable_rope()->clear_base();
  scheme.mutable_rope()->set_layout(static_cast<v1::RopeLayout>(77));
  EXPECT_EQ(FieldOf(ToScheme(scheme).status()), "scheme.rope.layout");
  scheme.mutable_rope()->set_layout(v1::ROPE_LAYOUT_UNSPECIFIED);
  EXPECT_TRUE(ToScheme(scheme).ok());
  *scheme.mutable_learned()->mutable_table() =
      MakeTensor(v1::DATA_TYPE_FLOAT32, {-1}, "");
  EXPECT_EQ(FieldOf(ToScheme(scheme).status()), "scheme.learned.table.shape");
}

TEST(ConvertTest, DoesNotCopyTensors) {
  const v1::Tensor tensor =
      MakeTensor(v1::DATA_TYPE_BOOL, {2, 3}, std::string(6, '\1'));
  const auto view = ToTensorView(tensor);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->data, tensor.data().data());
  EXPECT_EQ(view->dtype, DType::kBool);
}

TEST(ConvertTest, RejectsUnknownDataTypes) {
  for (const int dtype : {0, 99}) {
    const auto view =
        ToTensorView(MakeTensor(static_cast<v1::DataType>(dtype), {0}, ""));
    EXPECT_EQ(FieldOf(view.status()), "dtype");
  }
}

TEST(ConvertTest, CopiesTensorIntoProto) {
  Tensor tensor = Tensor::Zeros(DType::kFloat64, {100});
  v1::Tensor proto;
  ToProto(std::move(tensor), &proto);
  EXPECT_EQ(proto.data(), std::string(800, '\0'));
  EXPECT_EQ(proto.dtype(), v1::DATA_TYPE_FLOAT64);
  EXPECT_EQ(proto.shape(0), 100);
}

TEST(ConvertTest, DistinguishesZeroOffsetFromUnset) {
  v1::AttentionOptions options;
  EXPECT_EQ(ToAttentionOptions(options)->query_offset, std::nullopt);
  options.set_query_offset(0);
  options.set_bottom_right(true);
  EXPECT_EQ(ToAttentionOptions(options)->query_offset, 0);
  EXPECT_TRUE(ToAttentionOptions(options)->bottom_right);
}

TEST(ConvertTest, ModuleRequiresEitherEmbeddingsOrTokens) {
  v1::AttentionModule module;
  EXPECT_EQ(FieldOf(ToModuleInputs(module).status()), "module.x");
  module.add_tokens("a");
  EXPECT_TRUE(ToModuleInputs(module).ok());
  *module.mutable_x() = Zeros({1, 1, 4});
  EXPECT_EQ(FieldOf(ToModuleInputs(module).status()), "module.x");
  module.clear_tokens();
  module.mutable_weights();
  EXPECT_EQ(FieldOf(ToModuleInputs(module).status()), "module.weights.wq");
}

TEST(ConvertTest, ErrorsNameInvalidPosition) {
  v1::Positions positions;
  EXPECT_FALSE(ToPositions(positions).ok());
  positions.mutable_ids()->add_ids(3);
  positions.mutable_ids()->add_ids(-3);
  EXPECT_EQ(FieldOf(ToPositions(positions).status()), "ids.ids[1]");
  positions.mutable_range()->set_count(-1);
  EXPECT_EQ(FieldOf(ToPositions(positions).status()), "range.count");
}

}  // namespace
}  // namespace locus::server
