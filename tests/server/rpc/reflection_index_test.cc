// Responses of server reflection, without gRPC.
#include "server/rpc/reflection_index.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/support/status_code_enum.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace locus::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Request = ReflectionIndex::Request;
using Response = ReflectionIndex::Response;

// Four files: service.proto imports message.proto, which imports base.proto;
// extension.proto extends a message of base.proto.
constexpr const char* kFiles[] = {
    R"pb(
      name: "base.proto"
      package: "t"
      message_type {
        name: "Base"
        field { name: "id" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
        extension_range { start: 100 end: 200 }
      }
    )pb",
    R"pb(
      name: "message.proto"
      package: "t"
      dependency: "base.proto"
      message_type {
        name: "Message"
        field {
          name: "text"
          number: 1
          type: TYPE_STRING
          label: LABEL_OPTIONAL
          oneof_index: 0
        }
        field {
          name: "base"
          number: 2
          type: TYPE_MESSAGE
          type_name: ".t.Base"
          label: LABEL_OPTIONAL
        }
        nested_type { name: "Inner" }
        oneof_decl { name: "choice" }
      }
      enum_type {
        name: "Kind"
        value { name: "KIND_NONE" number: 0 }
      }
    )pb",
    R"pb(
      name: "service.proto"
      package: "t"
      dependency: "message.proto"
      dependency: "base.proto"
      service {
        name: "Echo"
        method { name: "Call" input_type: ".t.Message" output_type: ".t.Base" }
      }
    )pb",
    R"pb(
      name: "extension.proto"
      package: "t"
      dependency: "base.proto"
      extension {
        name: "extra"
        number: 123
        type: TYPE_INT32
        label: LABEL_OPTIONAL
        extendee: ".t.Base"
      }
      extension {
        name: "more"
        number: 150
        type: TYPE_INT32
        label: LABEL_OPTIONAL
        extendee: ".t.Base"
      }
    )pb"};

class ReflectionIndexTest : public ::testing::Test {
 protected:
  ReflectionIndexTest() {
    for (const char* const text : kFiles) {
      FileDescriptorProto file;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &file));
      EXPECT_NE(pool_.BuildFile(file), nullptr);
    }
  }

  Response Answer(const Request& request) {
    return index_.Answer(request, &sent_);
  }
  Response FileOf(const std::string& symbol) {
    Request request;
    request.set_file_containing_symbol(symbol);
    return Answer(request);
  }
  Response FileNamed(const std::string& name) {
    Request request;
    request.set_file_by_filename(name);
    return Answer(request);
  }
  Response FileOfExtension(const std::string& type, int number) {
    Request request;
    request.mutable_file_containing_extension()->set_containing_type(type);
    request.mutable_file_containing_extension()->set_extension_number(number);
    return Answer(request);
  }
  Response ExtensionsOf(const std::string& type) {
    Request request;
    request.set_all_extension_numbers_of_type(type);
    return Answer(request);
  }

  DescriptorPool pool_;
  ReflectionIndex index_{&pool_, {"t.Echo", "other.Service"}};
  ReflectionIndex::SentFiles sent_;
};

// The names of the files in a response, in order.
std::vector<std::string> FilesIn(const Response& response) {
  std::vector<std::string> names;
  for (const std::string& bytes :
       response.file_descriptor_response().file_descriptor_proto()) {
    FileDescriptorProto file;
    EXPECT_TRUE(file.ParseFromString(bytes));
    names.push_back(file.name());
  }
  return names;
}

TEST_F(ReflectionIndexTest, ListsServices) {
  Request request;
  request.set_list_services("*");
  const Response response = Answer(request);
  ASSERT_EQ(response.list_services_response().service_size(), 2);
  EXPECT_EQ(response.list_services_response().service(0).name(), "t.Echo");
  EXPECT_EQ(response.list_services_response().service(1).name(),
            "other.Service");
}

TEST_F(ReflectionIndexTest, ListsServicesIfTheRequestedTextIsEmpty) {
  Request request;
  request.set_list_services("");
  EXPECT_EQ(Answer(request).list_services_response().service_size(), 2);
}

TEST_F(ReflectionIndexTest, FindsFilesByName) {
  EXPECT_THAT(FilesIn(FileNamed("base.proto")), ElementsAre("base.proto"));
}

TEST_F(ReflectionIndexTest, FilesAreComplete) {
  const Response response = FileNamed("base.proto");
  FileDescriptorProto expected;
  pool_.FindFileByName("base.proto")->CopyTo(&expected);
  EXPECT_EQ(response.file_descriptor_response().file_descriptor_proto(0),
            expected.SerializeAsString());
}

TEST_F(ReflectionIndexTest, FindsFilesOfEveryKindOfSymbol) {
  for (const auto& [symbol, file] :
       std::vector<std::pair<const char*, const char*>>{
           {"t.Echo", "service.proto"},
           {"t.Echo.Call", "service.proto"},
           {"t.Message", "message.proto"},
           {"t.Message.Inner", "message.proto"},
           {"t.Message.text", "message.proto"},
           {"t.Message.choice", "message.proto"},
           {"t.Kind", "message.proto"},
           {"t.KIND_NONE", "message.proto"},
           {"t.extra", "extension.proto"}}) {
    sent_.clear();
    const std::vector<std::string> files = FilesIn(FileOf(symbol));
    ASSERT_FALSE(files.empty()) << symbol;
    EXPECT_EQ(files[0], file) << symbol;
  }
}

TEST_F(ReflectionIndexTest, SendsTransitiveImportsOnce) {
  EXPECT_THAT(FilesIn(FileOf("t.Echo")),
              ElementsAre("service.proto", "message.proto", "base.proto"));
}

TEST_F(ReflectionIndexTest, DoesNotSendImportsAgainOnTheSameStream) {
  FileOf("t.Message");
  EXPECT_THAT(FilesIn(FileOf("t.Echo")), ElementsAre("service.proto"));
}

TEST_F(ReflectionIndexTest, SendsTheRequestedFileAgain) {
  FileOf("t.Echo");
  EXPECT_THAT(FilesIn(FileOf("t.Message")), ElementsAre("message.proto"));
}

TEST_F(ReflectionIndexTest, SendsImportsAgainOnAnotherStream) {
  FileOf("t.Echo");
  sent_.clear();
  EXPECT_THAT(FilesIn(FileOf("t.Message")),
              ElementsAre("message.proto", "base.proto"));
}

TEST_F(ReflectionIndexTest, FindsFilesOfExtensions) {
  EXPECT_THAT(FilesIn(FileOfExtension("t.Base", 123)),
              ElementsAre("extension.proto", "base.proto"));
}

TEST_F(ReflectionIndexTest, ListsExtensionNumbers) {
  const Response response = ExtensionsOf("t.Base");
  EXPECT_EQ(response.all_extension_numbers_response().base_type_name(),
            "t.Base");
  EXPECT_THAT(response.all_extension_numbers_response().extension_number(),
              UnorderedElementsAre(123, 150));
}

TEST_F(ReflectionIndexTest, AMessageWithoutExtensionsIsNoError) {
  const Response response = ExtensionsOf("t.Message");
  EXPECT_TRUE(response.has_all_extension_numbers_response());
  EXPECT_THAT(response.all_extension_numbers_response().extension_number(),
              IsEmpty());
}

TEST_F(ReflectionIndexTest, UnknownNamesAreNotFound) {
  for (const Response& response :
       {FileNamed("none.proto"), FileOf("t.None"), FileOf(""),
        FileOfExtension("t.None", 123), FileOfExtension("t.Base", 124),
        FileOfExtension("t.Kind", 123), ExtensionsOf("t.None")}) {
    EXPECT_EQ(response.error_response().error_code(), grpc::NOT_FOUND)
        << response.DebugString();
  }
  EXPECT_THAT(FileOf("t.None").error_response().error_message(),
              HasSubstr("\"t.None\""));
}

TEST_F(ReflectionIndexTest, RequestsWithoutAKnownFieldAreUnimplemented) {
  EXPECT_EQ(Answer({}).error_response().error_code(), grpc::UNIMPLEMENTED);
}

TEST_F(ReflectionIndexTest, RepeatsTheRequest) {
  Request request;
  request.set_host("example.org");
  request.set_file_containing_symbol("t.None");
  const Response response = Answer(request);
  EXPECT_EQ(response.valid_host(), "example.org");
  EXPECT_EQ(response.original_request().SerializeAsString(),
            request.SerializeAsString());
}

TEST_F(ReflectionIndexTest, RejectsLongNamesAndDoesNotRepeatThem) {
  const std::string max_name(ReflectionIndex::kMaxNameBytes, 'x');
  EXPECT_EQ(FileOf(max_name).error_response().error_code(), grpc::NOT_FOUND);
  const std::string long_name = max_name + "x";
  Request host;
  host.set_host(long_name);
  host.set_list_services("");
  Request list;
  list.set_list_services(long_name);
  for (const Response& response :
       {FileOf(long_name), FileNamed(long_name), ExtensionsOf(long_name),
        FileOfExtension(long_name, 1), Answer(host), Answer(list)}) {
    EXPECT_EQ(response.error_response().error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_LT(response.ByteSizeLong(), 100);
  }
}

}  // namespace
}  // namespace locus::server
