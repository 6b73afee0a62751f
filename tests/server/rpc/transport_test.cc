// Tensors of all sizes over a real connection.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/rpc/wire/tensor_parser.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

// A stub without gRPC's default limit of 4 MiB for responses.
std::unique_ptr<v1::EncodingService::Stub> UnlimitedStub(TestServer& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return v1::EncodingService::NewStub(grpc::CreateCustomChannel(
      absl::StrCat("127.0.0.1:", server.server().grpc_port()),
      grpc::InsecureChannelCredentials(), arguments));
}

// A request whose response contains the unchanged input. Neighbouring bytes
// differ.
v1::EncodeRequest EchoRequest(int64_t bytes) {
  v1::EncodeRequest request;
  request.mutable_scheme()->mutable_none();
  *request.mutable_input() = Zeros({bytes / 256, 64});
  std::string& data = *request.mutable_input()->mutable_data();
  for (size_t n = 0; n < data.size(); ++n) {
    data[n] = static_cast<char>(n % 251);
  }
  return request;
}

TEST(TransportTest, ReturnsTensorsOfAllSizesUnchanged) {
  TestServer server;
  const auto stub = UnlimitedStub(server);
  for (const int64_t bytes :
       {int64_t{0}, int64_t{256}, int64_t{4096}, int64_t{1} << 20,
        int64_t{4} << 20, kLargeTensorBytes, kLargeTensorBytes + 256}) {
    const v1::EncodeRequest request = EchoRequest(bytes);
    grpc::ClientContext context;
    v1::EncodeResponse response;
    const grpc::Status status = stub->Encode(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.output().data() == request.input().data()) << bytes;
    EXPECT_EQ(response.output().shape(0), request.input().shape(0));
  }
}

TEST(TransportTest, ReservesMemoryOfResultsOnce) {
  ServerOptions options = TestOptions();
  options.memory_budget_bytes = 12 << 20;
  TestServer server(options);
  v1::EncodeRequest request;
  request.mutable_scheme()->mutable_sinusoidal();
  request.mutable_positions()->mutable_range()->set_count(8192);
  request.set_dim(256);  // 8 MiB
  grpc::ClientContext context;
  v1::EncodeResponse response;
  const grpc::Status status =
      UnlimitedStub(server)->Encode(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(TransportTest, RejectsTruncatedLargeTensors) {
  TestServer server;
  std::string wire = EchoRequest(kLargeTensorBytes + 256).SerializeAsString();
  wire.pop_back();
  const grpc::Status status = CallWithBytes(wire, GRPC_COMPRESS_NONE, server);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(DetailsOf(status).info->metadata().at("field"), "request");
}

}  // namespace
}  // namespace locus::server
