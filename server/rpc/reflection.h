// grpc.reflection.v1.ServerReflection and v1alpha, with one implementation:
// their messages are the same on the wire.
//
// Streams are processed by a poller of the unary methods and block no thread.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/reflection_index.h"

namespace locus::server {

// Both bounds keep clients from exhausting the server with streams that they do
// not use.
struct ReflectionLimits {
  // Open streams. Further streams are rejected with RESOURCE_EXHAUSTED.
  int max_streams = 64;
  // A stream is ended with DEADLINE_EXCEEDED if its client sends no request, or
  // does not read a response, for this time.
  std::chrono::milliseconds idle_timeout{30'000};
};

// Implements server reflection with gRPC's asynchronous API.
class Reflection {
 public:
  // `services` are the full names of the services, without those of reflection.
  explicit Reflection(std::vector<std::string> services,
                      ReflectionLimits limits = {});

  // Registers both services; call it before the gRPC server is built.
  void Register(grpc::ServerBuilder* builder);

  // Starts accepting streams; call it once the gRPC server is built. The events
  // of `queue` must be processed until the queue is closed and empty.
  void Start(EventQueue* queue);

  // Ends all streams with UNAVAILABLE, and rejects new ones from now on. Call
  // it at most once, after Start() and before the gRPC server is shut down.
  void Drain();

  // Thread-safe.
  int open_streams() const { return open_streams_; }

 private:
  class Stream;
  using V1 = grpc::reflection::v1::ServerReflection;
  using V1Alpha = grpc::reflection::v1alpha::ServerReflection;
  using ByteStream =
      grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
  // Requests the next stream of one of the services from gRPC.
  using RequestStream =
      std::function<void(grpc::ServerContext*, ByteStream*,
                         grpc::ServerCompletionQueue*, void* tag)>;

  void OnDrain(bool ok);

  const ReflectionLimits limits_;
  const ReflectionIndex index_;
  V1::WithRawMethod_ServerReflectionInfo<V1::Service> v1_;
  V1Alpha::WithRawMethod_ServerReflectionInfo<V1Alpha::Service> v1alpha_;
  const std::vector<RequestStream> request_stream_;  // per service
  EventQueue* queue_ = nullptr;
  // Open streams that have not been ended. Only the thread that polls the queue
  // uses `streams_` and `is_draining_`.
  std::set<Stream*> streams_;
  bool is_draining_ = false;
  std::atomic<int> open_streams_ = 0;  // size of streams_
  grpc::Alarm drain_alarm_;
  MemberTag<Reflection> drain_tag_{this, &Reflection::OnDrain};
};

}  // namespace locus::server
