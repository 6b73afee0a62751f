// Streams of server reflection over real connections.
#include "server/rpc/reflection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using google::protobuf::FileDescriptorProto;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// The stub and the messages of one version of the service.
struct V1 {
  using Service = grpc::reflection::v1::ServerReflection;
  using Request = grpc::reflection::v1::ServerReflectionRequest;
  using Response = grpc::reflection::v1::ServerReflectionResponse;
};
struct V1Alpha {
  using Service = grpc::reflection::v1alpha::ServerReflection;
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;
};

// One stream of a client.
template <typename Version>
class ClientStream {
 public:
  using Request = typename Version::Request;
  using Response = typename Version::Response;

  explicit ClientStream(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(Version::Service::NewStub(channel)) {
    // A server that does not end the stream fails the test.
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(10));
    stream_ = stub_->ServerReflectionInfo(&context_);
  }

  bool Write(const Request& request) { return stream_->Write(request); }
  // The response to a request; false if the stream has ended.
  bool Ask(const Request& request, Response* response) {
    return stream_->Write(request) && stream_->Read(response);
  }
  bool AskForServices() {
    Request request;
    request.set_list_services("");
    Response response;
    return Ask(request, &response) && response.has_list_services_response();
  }
  // Waits until the server has ended the stream, and returns the status.
  grpc::Status AwaitEnd() {
    Response response;
    while (stream_->Read(&response)) {
    }
    return stream_->Finish();
  }
  // Ends the stream as clients do that need nothing more.
  grpc::Status HalfClose() {
    stream_->WritesDone();
    return AwaitEnd();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<typename Version::Service::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
};

// A gRPC server that serves reflection only, with limits of the test's choice.
class ReflectionServer {
 public:
  explicit ReflectionServer(ReflectionLimits limits)
      : reflection_({"locus.v1.EncodingService"}, limits) {
    grpc::ServerBuilder builder;
    reflection_.Register(&builder);
    queue_.queue = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    reflection_.Start(&queue_);
    poller_ = std::thread([this] { Poll(); });
  }
  ~ReflectionServer() {
    server_->Shutdown(std::chrono::system_clock::now());
    closing_.Set(queue_.queue.get(), std::chrono::system_clock::now(), nullptr);
    poller_.join();
  }

  std::shared_ptr<grpc::Channel> channel() {
    return server_->InProcessChannel(grpc::ChannelArguments());
  }
  void Drain() { reflection_.Drain(); }
  // Waits until this many streams are open; false after five seconds.
  bool AwaitOpenStreams(int count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (reflection_.open_streams() != count) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  void Poll() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.queue->Next(&tag, &ok)) {
      if (tag != nullptr) {
        CompletionTag::Of(tag)->Proceed(ok);
      } else {
        queue_.is_closed = true;
        queue_.queue->Shutdown();
      }
    }
  }

  Reflection reflection_;
  EventQueue queue_;
  grpc::Alarm closing_;
  std::unique_ptr<grpc::Server> server_;
  std::thread poller_;
};

template <typename Version>
class ReflectionTest : public ::testing::Test {
 protected:
  using Stream = ClientStream<Version>;
  using Request = typename Version::Request;
  using Response = typename Version::Response;

  static Request SymbolRequest(const std::string& symbol) {
    Request request;
    request.set_file_containing_symbol(symbol);
    return request;
  }
};
using Versions = ::testing::Types<V1, V1Alpha>;
TYPED_TEST_SUITE(ReflectionTest, Versions);

TYPED_TEST(ReflectionTest, ListsAllServicesAndDescribesThem) {
  TestServer server;
  typename TestFixture::Stream stream(server.channel());
  typename TestFixture::Request request;
  request.set_list_services("*");
  typename TestFixture::Response listed;
  ASSERT_TRUE(stream.Ask(request, &listed));
  std::vector<std::string> names;
  for (const auto& service : listed.list_services_response().service()) {
    names.push_back(service.name());
    typename TestFixture::Response response;
    ASSERT_TRUE(
        stream.Ask(TestFixture::SymbolRequest(service.name()), &response));
    FileDescriptorProto file;
    ASSERT_GT(response.file_descriptor_response().file_descriptor_proto_size(),
              0)
        << response.DebugString();
    ASSERT_TRUE(file.ParseFromString(
        response.file_descriptor_response().file_descriptor_proto(0)));
    ASSERT_EQ(file.service_size(), 1);
    EXPECT_EQ(file.package() + "." + file.service(0).name(), service.name());
  }
  EXPECT_THAT(names,
              UnorderedElementsAre(
                  "locus.v1.EncodingService", "locus.v1.AttentionService",
                  "locus.v1.EvaluationService", "grpc.health.v1.Health",
                  "grpc.reflection.v1.ServerReflection",
                  "grpc.reflection.v1alpha.ServerReflection"));
  EXPECT_TRUE(stream.HalfClose().ok());
}

TYPED_TEST(ReflectionTest, DescribesErrorDetails) {
  TestServer server;
  for (const char* const symbol :
       {"google.rpc.Status", "google.rpc.BadRequest", "google.rpc.ErrorInfo",
        "google.rpc.RetryInfo", "google.rpc.QuotaFailure"}) {
    typename TestFixture::Stream stream(server.channel());
    typename TestFixture::Response response;
    ASSERT_TRUE(stream.Ask(TestFixture::SymbolRequest(symbol), &response));
    // The file, and the one import that it has.
    EXPECT_EQ(response.file_descriptor_response().file_descriptor_proto_size(),
              2)
        << symbol;
    EXPECT_TRUE(stream.HalfClose().ok());
  }
}

TYPED_TEST(ReflectionTest, ErrorsDoNotEndTheStream) {
  TestServer server;
  typename TestFixture::Stream stream(server.channel());
  typename TestFixture::Response response;
  ASSERT_TRUE(stream.Ask(TestFixture::SymbolRequest("no.Such"), &response));
  EXPECT_EQ(response.error_response().error_code(), grpc::NOT_FOUND);
  EXPECT_TRUE(stream.AskForServices());
}

TYPED_TEST(ReflectionTest, SendsImportsOncePerStream) {
  TestServer server;
  for (int i = 0; i < 2; ++i) {
    typename TestFixture::Stream stream(server.channel());
    typename TestFixture::Response first, second;
    const auto request = TestFixture::SymbolRequest("locus.v1.EncodeRequest");
    ASSERT_TRUE(stream.Ask(request, &first));
    ASSERT_TRUE(stream.Ask(request, &second));
    EXPECT_EQ(first.file_descriptor_response().file_descriptor_proto_size(), 3);
    EXPECT_EQ(second.file_descriptor_response().file_descriptor_proto_size(),
              1);
  }
}

TYPED_TEST(ReflectionTest, MalformedRequestsEndTheStream) {
  TestServer server;
  typename TestFixture::Stream stream(server.channel());
  // Text must be valid UTF-8.
  stream.Write(TestFixture::SymbolRequest("\xff"));
  const grpc::Status status = stream.AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("no ServerReflectionRequest"));
}

TYPED_TEST(ReflectionTest, LargeRequestsEndTheStream) {
  TestServer server;
  typename TestFixture::Stream stream(server.channel());
  stream.Write(TestFixture::SymbolRequest(std::string(5000, 'x')));
  const grpc::Status status = stream.AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("larger than 4096 bytes"));
}

TYPED_TEST(ReflectionTest, IdleStreamsEnd) {
  ReflectionServer server({.idle_timeout = std::chrono::milliseconds(50)});
  typename TestFixture::Stream silent(server.channel());
  typename TestFixture::Stream stream(server.channel());
  stream.AskForServices();
  for (auto* const idle : {&stream, &silent}) {
    const grpc::Status status = idle->AwaitEnd();
    EXPECT_EQ(status.error_code(), grpc::DEADLINE_EXCEEDED);
    EXPECT_THAT(status.error_message(), HasSubstr("idle for too long"));
  }
  EXPECT_TRUE(server.AwaitOpenStreams(0));
}

TYPED_TEST(ReflectionTest, OpenStreamsAreBounded) {
  ReflectionServer server({.max_streams = 2});
  typename TestFixture::Stream first(server.channel());
  // The bound is common to both versions.
  ClientStream<V1> second(server.channel());
  ASSERT_TRUE(first.AskForServices());
  ASSERT_TRUE(second.AskForServices());
  typename TestFixture::Stream rejected(server.channel());
  const grpc::Status status = rejected.AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("2 open reflection streams"));
  EXPECT_TRUE(first.HalfClose().ok());
  ASSERT_TRUE(server.AwaitOpenStreams(1));
  typename TestFixture::Stream third(server.channel());
  EXPECT_TRUE(third.AskForServices());
}

TYPED_TEST(ReflectionTest, CancelledStreamsEnd) {
  ReflectionServer server({});
  typename TestFixture::Stream stream(server.channel());
  ASSERT_TRUE(stream.AskForServices());
  EXPECT_TRUE(server.AwaitOpenStreams(1));
  stream.Cancel();
  EXPECT_EQ(stream.AwaitEnd().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(server.AwaitOpenStreams(0));
}

TYPED_TEST(ReflectionTest, DrainEndsStreamsAndRejectsNewOnes) {
  ReflectionServer server({});
  typename TestFixture::Stream stream(server.channel());
  ASSERT_TRUE(stream.AskForServices());
  server.Drain();
  EXPECT_EQ(stream.AwaitEnd().error_code(), grpc::UNAVAILABLE);
  typename TestFixture::Stream late(server.channel());
  EXPECT_EQ(late.AwaitEnd().error_code(), grpc::UNAVAILABLE);
  EXPECT_TRUE(server.AwaitOpenStreams(0));
}

TEST(ReflectionStreamTest, StreamsInUseDoNotEnd) {
  constexpr std::chrono::milliseconds kIdleTimeout(1000);
  ReflectionServer server({.idle_timeout = kIdleTimeout});
  ClientStream<V1> stream(server.channel());
  const auto end = std::chrono::steady_clock::now() + 3 * kIdleTimeout / 2;
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_TRUE(stream.AskForServices());
  }
  EXPECT_TRUE(stream.HalfClose().ok());
}

// The client sends requests and does not read the responses, until flow control
// blocks the server.
TEST(ReflectionStreamTest, StreamsWithUnreadResponsesEnd) {
  ReflectionServer server({.idle_timeout = std::chrono::milliseconds(50)});
  ClientStream<V1> stream(server.channel());
  V1::Request request;
  request.set_file_by_filename("locus/v1/evaluation.proto");
  for (int i = 0; i < 200 && stream.Write(request); ++i) {
  }
  EXPECT_TRUE(server.AwaitOpenStreams(0));
  // The server has cancelled the stream before the client's deadline.
  EXPECT_EQ(stream.AwaitEnd().error_code(), grpc::CANCELLED);
}

TEST(ReflectionStreamTest, ShutdownEndsOpenStreamsAtOnce) {
  TestServer server;
  std::vector<std::unique_ptr<ClientStream<V1>>> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(std::make_unique<ClientStream<V1>>(server.channel()));
    ASSERT_TRUE(streams.back()->AskForServices());
  }
  EXPECT_EQ(server.Metric("locus_open_streams{service=\"grpc.reflection\"}"),
            20);
  server.server().Shutdown();
  for (const auto& stream : streams) {
    EXPECT_EQ(stream->AwaitEnd().error_message(), "the server is draining");
  }
}

// Without Drain(), streams are cancelled when the gRPC server is shut down.
TEST(ReflectionStreamTest, DestructionCancelsOpenStreams) {
  auto server = std::make_unique<ReflectionServer>(ReflectionLimits{});
  ClientStream<V1> stream(server->channel());
  ASSERT_TRUE(stream.AskForServices());
  server.reset();
  EXPECT_FALSE(stream.AwaitEnd().ok());
}

TEST(ReflectionStreamTest, TheServerHasABoundOf64Streams) {
  TestServer server;
  std::vector<std::unique_ptr<ClientStream<V1>>> streams;
  for (int i = 0; i < 64; ++i) {
    streams.push_back(std::make_unique<ClientStream<V1>>(server.channel()));
    ASSERT_TRUE(streams.back()->AskForServices());
  }
  ClientStream<V1Alpha> rejected(server.channel());
  EXPECT_EQ(rejected.AwaitEnd().error_code(), grpc::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace locus::server
