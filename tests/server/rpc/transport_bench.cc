// Measures the overhead of calls over their kernel and gRPC. Prints the median
// milliseconds of the following, measured in turns over loopback:
//
//   echo    a service that returns as many of the received bytes as the
//   response
//           of the call has: the cost of gRPC itself
//   kernel  the same job within this process, on the same number of threads
//   bytes   the call with a serialised request, whose response is not parsed:
//           includes the overhead of the server
//   stub    the call through the generated stub: includes the overhead of the
//           client
//
// It also prints the ratios of both calls to kernel plus echo, and the page
// faults of the server per call, each of which costs microseconds. The server
// and the echo service run in processes of their own.
//
// Usage: server_transport_bench [rounds, default 51] [threads, default 2]
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/parallel/thread_pool.h"
#include "locus/v1/attention.grpc.pb.h"
#include "locus/v1/encoding.grpc.pb.h"
#include "server/base/allocator.h"
#include "server/server.h"
#include "server/services/convert/convert.h"

namespace locus::server {
namespace {

constexpr char kEchoPath[] = "/bench.Echo/Echo";
constexpr char kResponseBytes[] = "response-bytes";
constexpr int kWarmUps = 5;

// Returns the first bytes of the request, as many as the client asks for,
// without copying them.
class EchoService final : public grpc::Service {
 public:
  EchoService() {
    AddMethod(new grpc::internal::RpcServiceMethod(
        kEchoPath, grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::RpcMethodHandler<EchoService, grpc::ByteBuffer,
                                             grpc::ByteBuffer>(&Echo, this)));
  }

 private:
  static grpc::Status Echo(EchoService*, grpc::ServerContext* context,
                           const grpc::ByteBuffer* request,
                           grpc::ByteBuffer* response) {
    const auto wanted = context->client_metadata().find(kResponseBytes);
    size_t left = std::strtoull(wanted->second.data(), nullptr, 10);
    std::vector<grpc::Slice> slices;
    std::vector<grpc::Slice> received;
    while (left > 0 && request->Dump(&received).ok()) {
      for (const grpc::Slice& slice : received) {
        slices.push_back(slice.sub(0, std::min(left, slice.size())));
        left -= slices.back().size();
        if (left == 0) break;
      }
    }
    *response = grpc::ByteBuffer(slices.data(), slices.size());
    return grpc::Status::OK;
  }
};

struct Child {
  int pid = 0;
  int port = 0;
};

// Runs `serve` in a child process that is killed when this process ends, and
// returns the port that `serve` passes to its argument. Must be called before
// any thread is started.
Child Fork(const std::function<void(const std::function<void(int)>&)>& serve) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  Child child;
  child.pid = fork();
  if (child.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve([&](int port) {
      if (write(ends[1], &port, sizeof(port)) != sizeof(port)) std::_Exit(1);
      pause();
    });
    std::_Exit(1);
  }
  if (read(ends[0], &child.port, sizeof(child.port)) != sizeof(child.port)) {
    std::exit(1);
  }
  return child;
}

// The number of minor page faults of a process so far.
int64_t PageFaults(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  // pid (name) state ppid pgrp session tty_nr tpgid flags minflt
  for (int n = 0; n < 10; ++n) stat >> word;
  return std::atoll(word.c_str());
}

Child ForkServer(int threads) {
  return Fork([&](const std::function<void(int)>& run) {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.http = "";
    options.threads = threads;
    options.log_calls = false;
    const auto server = Server::Start(options);
    if (server.ok()) run((*server)->grpc_port());
  });
}

Child ForkEcho() {
  return Fork([&](const std::function<void(int)>& run) {
    EchoService service;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.SetMaxReceiveMessageSize(-1);
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    if (server != nullptr) run(port);
  });
}

std::shared_ptr<grpc::Channel> Connect(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                   grpc::InsecureChannelCredentials(),
                                   arguments);
}

void Check(bool ok, const std::string& what) {
  if (ok) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

// Calls a method with a serialised request, and returns the size of the
// response.
size_t CallBytes(grpc::Channel& channel, const char* path,
                 const grpc::ByteBuffer& request, size_t response_bytes = 0) {
  grpc::ClientContext context;
  context.AddMetadata(kResponseBytes, std::to_string(response_bytes));
  const grpc::internal::RpcMethod method(path,
                                         grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ByteBuffer response;
  const grpc::Status status = grpc::internal::BlockingUnaryCall(
      &channel, method, &context, request, &response);
  Check(status.ok(), status.error_message());
  return response.Length();
}

grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

double MillisOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - start)
      .count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Case {
  std::string name;
  const char* path;
  grpc::ByteBuffer request;
  std::function<void()> kernel;
  std::function<void()> stub;
};

void Measure(const Case& call, int rounds, grpc::Channel& server,
             grpc::Channel& echo, int server_pid) {
  const size_t response_bytes = CallBytes(server, call.path, call.request);
  std::vector<std::function<void()>> kinds = {
      [&] { CallBytes(echo, kEchoPath, call.request, response_bytes); },
      call.kernel, [&] { CallBytes(server, call.path, call.request); },
      call.stub};
  std::vector<std::vector<double>> millis(kinds.size());
  std::vector<double> faults;
  for (int round = -kWarmUps; round < rounds; ++round) {
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      const int64_t faults_before = PageFaults(server_pid);
      const double time = MillisOf(kinds[kind]);
      if (kind == 2) {
        faults.push_back(
            static_cast<double>(PageFaults(server_pid) - faults_before));
      }
      if (round >= 0) millis[kind].push_back(time);
    }
  }
  const double echo_time = Median(millis[0]), kernel = Median(millis[1]);
  const double bytes = Median(millis[2]), stub = Median(millis[3]);
  std::printf("%-24s %9zu %9zu %8.2f %8.2f %8.2f %8.2f %7.2f %7.2f %7.0f\n",
              call.name.c_str(), call.request.Length(), response_bytes,
              echo_time, kernel, bytes, stub, bytes / (kernel + echo_time),
              stub / (kernel + echo_time), Median(faults));
  std::fflush(stdout);
}

v1::Tensor RandomTensor(const std::vector<int64_t>& shape, const char* name) {
  v1::Tensor tensor;
  tensor.set_dtype(v1::DATA_TYPE_FLOAT32);
  int64_t count = 1;
  for (const int64_t extent : shape) {
    tensor.add_shape(extent);
    count *= extent;
  }
  std::vector<float> values(count);
  RandomStream(1, name).FillNormal(1, absl::MakeSpan(values));
  tensor.set_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

// Encode without a scheme, which returns its input unchanged, so that the call
// consists of transport only.
Case EncodeCase(const std::string& name, int64_t bytes, ThreadPool& pool,
                v1::EncodingService::Stub& stub) {
  auto request = std::make_shared<v1::EncodeRequest>();
  request->mutable_scheme()->mutable_none();
  *request->mutable_input() = RandomTensor({bytes / 256, 64}, "x");
  const auto kernel = [request, &pool] {
    const auto scheme = ToScheme(request->scheme());
    const auto job = EncodeJob::Create(**scheme, *ToEncodeOptions(*request));
    Check(job->Run(pool, [] { return absl::OkStatus(); }).ok(), "kernel");
  };
  const auto call = [request, &stub] {
    grpc::ClientContext context;
    v1::EncodeResponse response;
    Check(stub.Encode(&context, *request, &response).ok(), "stub");
  };
  return {name, "/locus.v1.EncodingService/Encode", Serialize(*request), kernel,
          call};
}

Case AttendCase(const std::string& name, int64_t tokens, ThreadPool& pool,
                v1::AttentionService::Stub& stub) {
  auto request = std::make_shared<v1::AttendRequest>();
  request->mutable_scheme()->mutable_none();
  v1::AttentionHeads* heads = request->mutable_heads();
  *heads->mutable_q() = RandomTensor({1, 8, tokens, 64}, "q");
  *heads->mutable_k() = RandomTensor({1, 8, tokens, 64}, "k");
  *heads->mutable_v() = RandomTensor({1, 8, tokens, 64}, "v");
  const auto kernel = [request, &pool] {
    const auto scheme = ToScheme(request->scheme());
    const auto job = AttentionJob::Create(
        **scheme, *ToAttentionInputs(request->heads()), AttentionOptions());
    Check(job->Run(pool, [] { return absl::OkStatus(); }).ok(), "kernel");
  };
  const auto call = [request, &stub] {
    grpc::ClientContext context;
    v1::AttendResponse response;
    Check(stub.Attend(&context, *request, &response).ok(), "stub");
  };
  return {name, "/locus.v1.AttentionService/Attend", Serialize(*request),
          kernel, call};
}

void Main(int rounds, int threads) {
  // Applies to all three processes, so that the echo service does not lose time
  // to page faults that the server avoids.
  PrepareAllocator();
  const Child server_child = ForkServer(threads);
  const Child echo_child = ForkEcho();
  const auto server = Connect(server_child.port);
  const auto echo = Connect(echo_child.port);
  const auto encoding = v1::EncodingService::NewStub(server);
  const auto attention = v1::AttentionService::NewStub(server);
  ThreadPool pool(threads);
  std::printf("%-24s %9s %9s %8s %8s %8s %8s %7s %7s %7s\n",
              "call, milliseconds", "in", "out", "echo", "kernel", "bytes",
              "stub", "bytes/", "stub/", "faults");
  for (const auto& [name, bytes] :
       {std::pair("Encode none, 4 KiB", 4 << 10),
        std::pair("Encode none, 256 KiB", 256 << 10),
        std::pair("Encode none, 4 MiB", 4 << 20),
        std::pair("Encode none, 32 MiB", 32 << 20)}) {
    Measure(EncodeCase(name, bytes, pool, *encoding), rounds, *server, *echo,
            server_child.pid);
  }
  for (const int64_t tokens : {128, 1024}) {
    Measure(AttendCase("Attend 8 x 64, T = " + std::to_string(tokens), tokens,
                       pool, *attention),
            rounds, *server, *echo, server_child.pid);
  }
}

}  // namespace
}  // namespace locus::server

int main(int argc, char** argv) {
  const auto argument = [&](int n, int default_value) {
    return argc > n ? std::max(1, std::atoi(argv[n])) : default_value;
  };
  locus::server::Main(argument(1, 51), argument(2, 2));
  return 0;
}
