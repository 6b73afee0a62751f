// Compatibility of the contract with its published version.
//
// locus.v1.binpb holds the descriptors of the published contract. Regenerate it
// only after an addition, from the folder proto/:
//
//   protoc --include_imports --descriptor_set_out=../tests/proto/locus.v1.binpb
//          locus/v1/*.proto
#include "tests/proto/contract.h"

#include <fstream>
#include <ostream>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"
#include "locus/v1/evaluation.pb.h"
#include "locus/v1/scheme.pb.h"
#include "locus/v1/tensor.pb.h"

namespace locus {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

FileDescriptorSet Published() {
  std::ifstream file(LOCUS_SOURCE_DIR "/tests/proto/locus.v1.binpb",
                     std::ios::binary);
  FileDescriptorSet set;
  EXPECT_TRUE(set.ParseFromIstream(&file));
  return set;
}

TEST(ContractTest, IsCompatibleWithPublishedContract) {
  // A reference to these messages makes the linker keep all files of the
  // contract.
  ASSERT_NE(v1::EncodeRequest::descriptor(), nullptr);
  ASSERT_NE(v1::AttendRequest::descriptor(), nullptr);
  ASSERT_NE(v1::CheckPropertiesRequest::descriptor(), nullptr);
  const FileDescriptorSet published = Published();
  DescriptorPool pool;
  for (const FileDescriptorProto& file : published.file()) {
    const FileDescriptor* const before = pool.BuildFile(file);
    ASSERT_NE(before, nullptr) << file.name();
    const auto changes =
        IncompatibleChanges(*before, *DescriptorPool::generated_pool());
    EXPECT_THAT(changes, IsEmpty()) << absl::StrJoin(changes, "\n");
  }
}

TEST(ContractTest, PublishedContractIsComplete) {
  const FileDescriptorSet published = Published();
  DescriptorPool pool;
  for (const FileDescriptorProto& file : published.file()) {
    ASSERT_NE(pool.BuildFile(file), nullptr) << file.name();
  }
  for (const auto* file :
       {v1::EncodeRequest::descriptor()->file(),
        v1::AttendRequest::descriptor()->file(),
        v1::CheckPropertiesRequest::descriptor()->file(),
        v1::Scheme::descriptor()->file(), v1::Tensor::descriptor()->file()}) {
    EXPECT_THAT(IncompatibleChanges(*file, pool), IsEmpty())
        << "the contract has grown; regenerate locus.v1.binpb";
  }
}

// The descriptor of a made-up contract, in text format.
constexpr char kContract[] = R"(
  name: "made_up.proto" package: "made.up" syntax: "proto3"
  message_type {
    name: "Kept"
    field { name: "count" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL }
    field { name: "yes" number: 2 type: TYPE_BOOL label: LABEL_OPTIONAL
            oneof_index: 0 }
    field { name: "no" number: 3 type: TYPE_BOOL label: LABEL_OPTIONAL
            oneof_index: 0 }
    field { name: "ids" number: 4 type: TYPE_INT64 label: LABEL_REPEATED }
    field { name: "colour" number: 5 type: TYPE_ENUM label: LABEL_OPTIONAL
            type_name: ".made.up.Colour" }
    field { name: "other" number: 6 type: TYPE_MESSAGE label: LABEL_OPTIONAL
            type_name: ".made.up.Other" }
    oneof_decl { name: "kind" }
    nested_type {
      name: "Inner"
      field { name: "depth" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
    }
  }
  message_type { name: "Other" }
  message_type { name: "Lone" }
  enum_type {
    name: "Colour"
    value { name: "COLOUR_UNSPECIFIED" number: 0 }
    value { name: "COLOUR_RED" number: 1 }
  }
  service {
    name: "Caller"
    method { name: "Ask" input_type: ".made.up.Kept"
             output_type: ".made.up.Other" }
  })";

// A contract built from a descriptor in text format.
struct Contract {
  explicit Contract(const std::string& description) {
    FileDescriptorProto proto;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(description, &proto));
    file = pool.BuildFile(proto);
    EXPECT_NE(file, nullptr) << description;
  }
  DescriptorPool pool;
  const FileDescriptor* file = nullptr;
};

// A change of the made-up contract: `from` is replaced by `to`. `expected` is a
// part of the reported line; empty if the change is compatible.
struct Change {
  const char* name;
  const char* from;
  const char* to;
  const char* expected;

  friend void PrintTo(const Change& change, std::ostream* out) {
    *out << change.name;
  }
};

class ContractChangeTest : public testing::TestWithParam<Change> {};

TEST_P(ContractChangeTest, IsReportedIfIncompatible) {
  const Change& change = GetParam();
  const Contract before(kContract);
  const std::string changed =
      absl::StrReplaceAll(kContract, {{change.from, change.to}});
  ASSERT_NE(changed, kContract);
  const Contract after(changed);
  const auto changes = IncompatibleChanges(*before.file, after.pool);
  if (absl::string_view(change.expected).empty()) {
    EXPECT_THAT(changes, IsEmpty());
  } else {
    EXPECT_THAT(changes, Contains(HasSubstr(change.expected)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Incompatible, ContractChangeTest,
    testing::Values(
        Change{"MessageRemoved", "message_type { name: \"Lone\" }", "",
               "made.up.Lone was removed"},
        Change{"NestedMessageRemoved", "\"Inner\"", "\"Outer\"",
               "made.up.Kept.Inner was removed"},
        Change{"FieldRemoved", "\"count\"", "\"number\"",
               "made.up.Kept.count was removed"},
        Change{"NestedFieldRemoved", "\"depth\"", "\"height\"",
               "made.up.Kept.Inner.depth was removed"},
        Change{"NumberChanged", "\"count\" number: 1", "\"count\" number: 11",
               "made.up.Kept.count: number was 1, is 11"},
        Change{"TypeChanged", "number: 1 type: TYPE_INT64",
               "number: 1 type: TYPE_SINT64",
               "made.up.Kept.count: type was int64, is sint64"},
        Change{"MessageTypeChanged", "type_name: \".made.up.Other\"",
               "type_name: \".made.up.Lone\"",
               "type was made.up.Other, is made.up.Lone"},
        Change{"LabelChanged",
               "number: 5 type: TYPE_ENUM label: LABEL_OPTIONAL",
               "number: 5 type: TYPE_ENUM label: LABEL_REPEATED",
               "made.up.Kept.colour: repeated"},
        Change{"PackingChanged", "type: TYPE_INT64 label: LABEL_REPEATED",
               "type: TYPE_INT64 label: LABEL_REPEATED "
               "options { packed: false }",
               "made.up.Kept.ids: packed"},
        Change{"PresenceChanged",
               "number: 3 type: TYPE_BOOL label: LABEL_OPTIONAL\n"
               "            oneof_index: 0",
               "number: 3 type: TYPE_BOOL label: LABEL_OPTIONAL",
               "made.up.Kept.no: presence"},
        Change{"OneofChanged", "oneof_decl { name: \"kind\" }",
               "oneof_decl { name: \"sort\" }",
               "made.up.Kept.yes: oneof was kind, is sort"},
        Change{"JsonNameChanged", "\"count\"", "\"count\" json_name: \"n\"",
               "made.up.Kept.count: JSON name was count, is n"},
        Change{"EnumValueRemoved", "COLOUR_RED", "COLOUR_BLUE",
               "made.up.COLOUR_RED was removed"},
        Change{"EnumValueRenumbered", "\"COLOUR_RED\" number: 1",
               "\"COLOUR_RED\" number: 2",
               "made.up.COLOUR_RED: number was 1, is 2"},
        Change{"ServiceRemoved", "\"Caller\"", "\"Talker\"",
               "made.up.Caller was removed"},
        Change{"MethodRemoved", "\"Ask\"", "\"Tell\"",
               "made.up.Caller.Ask was removed"},
        Change{"RequestChanged", "input_type: \".made.up.Kept\"",
               "input_type: \".made.up.Lone\"",
               "request was made.up.Kept, is made.up.Lone"},
        Change{"ResponseChanged", "output_type: \".made.up.Other\"",
               "output_type: \".made.up.Lone\"",
               "response was made.up.Other, is made.up.Lone"},
        Change{"RequestStreamed", "\"Ask\"", "\"Ask\" client_streaming: true",
               "client streaming"},
        Change{"ResponseStreamed", "\"Ask\"", "\"Ask\" server_streaming: true",
               "server streaming"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Compatible, ContractChangeTest,
    testing::Values(
        Change{"FieldAdded", "nested_type {",
               "field { name: \"more\" number: 9 type: TYPE_BOOL "
               "label: LABEL_OPTIONAL } nested_type {",
               ""},
        Change{"AlternativeAdded", "field { name: \"ids\"",
               "field { name: \"perhaps\" number: 9 type: TYPE_BOOL "
               "label: LABEL_OPTIONAL oneof_index: 0 } field { name: \"ids\"",
               ""},
        Change{"EnumValueAdded", "value { name: \"COLOUR_RED\"",
               "value { name: \"COLOUR_BLUE\" number: 2 } "
               "value { name: \"COLOUR_RED\"",
               ""},
        Change{
            "MessageAdded", "message_type { name: \"Other\" }",
            "message_type { name: \"Other\" } message_type { name: \"More\" }",
            ""},
        Change{"MethodAdded", "method {",
               "method { name: \"Tell\" input_type: \".made.up.Kept\" "
               "output_type: \".made.up.Lone\" } method {",
               ""}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace locus
