// Fuzzes every method of the server with arbitrary bytes as the request,
// through parsing, validation and admission to the handler. The server runs in
// this process, with limits that make every case cheap. The first byte of the
// input selects the method. Every call must succeed or fail with a client
// error, never with a server error.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/utf8.h"
#include "server/server.h"
#include "tests/fuzz/check.h"

namespace locus::server {
namespace {

using fuzz::Check;

constexpr const char* kMethods[] = {
    "/locus.v1.EncodingService/ListSchemes",
    "/locus.v1.EncodingService/Encode",
    "/locus.v1.AttentionService/Attend",
    "/locus.v1.EvaluationService/CheckProperties",
    "/locus.v1.EvaluationService/EvaluateExtrapolation",
    "/grpc.health.v1.Health/Check",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
};

// Whether a stream of responses only ends when the client cancels the call.
bool IsEndless(absl::string_view method) {
  return method == "/grpc.health.v1.Health/Watch";
}

ServerOptions SmallOptions() {
  ServerOptions options;
  options.listen = "";
  options.http = "";
  options.threads = 1;
  options.max_message_bytes = 64 << 10;
  options.memory_budget_bytes = 8 << 20;
  options.max_call_flops = 3e6;
  options.max_elements = 1 << 14;
  options.max_length = 1 << 10;
  options.max_heads = 16;
  options.max_evaluation_flops = 3e6;
  options.background_evaluations = false;
  options.log_calls = false;
  options.grace_seconds = 1;
  return options;
}

class Fixture {
 public:
  Fixture() : server_(Server::Start(SmallOptions()).value()) {
    channel_ = server_->InProcessChannel(grpc::ChannelArguments());
    stub_ = std::make_unique<grpc::GenericStub>(channel_);
  }

  // Sends one message and reads all responses; only the first if the stream is
  // endless. Returns the status of the call.
  grpc::Status Call(const char* method, const uint8_t* data, size_t size) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(20));
    grpc::CompletionQueue queue;
    auto stream = stub_->PrepareCall(&context, method, &queue);
    stream->StartCall(nullptr);
    Next(&queue);
    grpc::Slice slice(data, size);
    stream->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(),
                      nullptr);
    Next(&queue);
    grpc::ByteBuffer response;
    do {
      stream->Read(&response, nullptr);
    } while (Next(&queue) && !IsEndless(method));
    if (IsEndless(method)) context.TryCancel();
    grpc::Status status;
    stream->Finish(&status, nullptr);
    Next(&queue);
    return status;
  }

 private:
  // Waits for the next event, and returns whether its operation succeeded.
  static bool Next(grpc::CompletionQueue* queue) {
    void* tag = nullptr;
    bool ok = false;
    queue->Next(&tag, &ok);
    return ok;
  }

  const std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

// Whether a text is valid UTF-8 without control or other deceptive characters.
bool IsPrintable(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0 || IsDeceptive(CodePointOf(text.substr(0, length)))) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace
}  // namespace locus::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using locus::fuzz::Check;
  namespace server = locus::server;
  if (size == 0) return 0;
  static server::Fixture* const fixture = new server::Fixture;
  const char* const method =
      server::kMethods[data[0] % std::size(server::kMethods)];
  const grpc::Status status = fixture->Call(method, data + 1, size - 1);
  switch (status.error_code()) {
    case grpc::OK:
    case grpc::INVALID_ARGUMENT:
    case grpc::NOT_FOUND:           // health check of an unknown service
    case grpc::RESOURCE_EXHAUSTED:  // a limit of the server was exceeded
    case grpc::UNIMPLEMENTED:
      break;
    case grpc::CANCELLED:
      Check(server::IsEndless(method), "only the client cancels calls", method);
      break;
    case grpc::INTERNAL:
      // gRPC returns INTERNAL if a message of its own services does not parse.
      Check(std::string(method).find("/grpc.") == 0, "no internal error",
            method);
      break;
    default:
      Check(false, "every call succeeds or fails with a client error",
            absl::StrCat(method, ": ", static_cast<int>(status.error_code()),
                         " ", status.error_message()));
  }
  Check(server::IsPrintable(status.error_message()) &&
            status.error_message().size() < 4096,
        "an error message is short and printable", status.error_message());
  return 0;
}
