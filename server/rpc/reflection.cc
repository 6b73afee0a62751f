#include "server/rpc/reflection.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/clock.h"

namespace locus::server {
namespace {

// Larger requests end the stream before they are parsed. The largest valid
// request holds two names.
constexpr size_t kMaxReflectionBytes = 4 * ReflectionIndex::kMaxNameBytes;

std::vector<std::string> WithReflection(std::vector<std::string> services) {
  services.emplace_back(
      grpc::reflection::v1::ServerReflection::service_full_name());
  services.emplace_back(
      grpc::reflection::v1alpha::ServerReflection::service_full_name());
  return services;
}

// The descriptors that the index serves. Only files whose messages are used
// somewhere are linked into the program and known to its pool, so this function
// uses one message of each file that nothing else uses, and of google.rpc, with
// which clients decode error details.
const google::protobuf::DescriptorPool* LinkedDescriptors() {
  grpc::reflection::v1alpha::ServerReflectionRequest::descriptor();
  google::rpc::Status::descriptor();
  google::rpc::BadRequest::descriptor();
  return google::protobuf::DescriptorPool::generated_pool();
}

bool ParseReflectionRequest(grpc::ByteBuffer* wire,
                            ReflectionIndex::Request* request) {
  grpc::ProtoBufferReader reader(wire);
  return reader.status().ok() && request->ParseFromZeroCopyStream(&reader);
}

grpc::ByteBuffer ToByteBuffer(const ReflectionIndex::Response& response) {
  const grpc::Slice slice(response.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

// State of one stream, from the moment it is requested from gRPC until it has
// ended and no operation is pending. Deletes itself then. Reads a request,
// writes the response, and reads the next request.
class Reflection::Stream {
 public:
  Stream(Reflection* reflection, const RequestStream* request_stream,
         EventQueue* queue)
      : reflection_(*reflection),
        request_stream_(*request_stream),
        queue_(*queue),
        stream_(&context_) {
    request_stream_(&context_, &stream_, queue_.queue.get(),
                    arrival_tag_.tag());
  }

  // Ends the stream, once a pending write has completed.
  void End(const grpc::Status& status) {
    if (has_ended_) return;
    if (is_writing_) {
      status_after_write_ = status;
      return;
    }
    has_ended_ = true;
    reflection_.open_streams_ -=
        static_cast<int>(reflection_.streams_.erase(this));
    alarm_.Cancel();
    if (queue_.is_closed) return;
    ++pending_;
    stream_.Finish(status, finished_tag_.tag());
  }

 private:
  void OnArrival(bool ok) {
    if (!ok || queue_.is_closed) return delete this;
    new Stream(&reflection_, &request_stream_, &queue_);
    if (reflection_.is_draining_) {
      return End(grpc::Status(grpc::UNAVAILABLE, "the server is draining"));
    }
    const int max_streams = reflection_.limits_.max_streams;
    if (reflection_.open_streams_ >= max_streams) {
      return End(
          grpc::Status(grpc::RESOURCE_EXHAUSTED,
                       absl::StrCat("the server has ", max_streams,
                                    " open reflection streams, its maximum")));
    }
    reflection_.streams_.insert(this);
    ++reflection_.open_streams_;
    Read();
    SetAlarm();
  }

  void Read() {
    idle_until_ = Clock::now() + reflection_.limits_.idle_timeout;
    ++pending_;
    stream_.Read(&wire_, read_tag_.tag());
  }

  void OnRead(bool ok) {
    if (!ok) {
      End(grpc::Status::OK);  // the client sends no more, or has cancelled
    } else if (queue_.is_closed || has_ended_) {
      End(grpc::Status::CANCELLED);
    } else {
      Respond();
    }
    Release();
  }

  void Respond() {
    ReflectionIndex::Request request;
    if (wire_.Length() > kMaxReflectionBytes) {
      return End(grpc::Status(grpc::INVALID_ARGUMENT,
                              absl::StrCat("the request is larger than ",
                                           kMaxReflectionBytes, " bytes")));
    }
    if (!ParseReflectionRequest(&wire_, &request)) {
      return End(grpc::Status(grpc::INVALID_ARGUMENT,
                              "the request is no ServerReflectionRequest"));
    }
    is_writing_ = true;
    ++pending_;
    stream_.Write(ToByteBuffer(reflection_.index_.Answer(request, &sent_)),
                  written_tag_.tag());
  }

  void OnWritten(bool ok) {
    is_writing_ = false;
    if (status_after_write_) {
      End(*status_after_write_);
    } else if (!ok || queue_.is_closed) {
      End(grpc::Status::CANCELLED);
    } else {
      Read();
    }
    Release();
  }

  void SetAlarm() {
    ++pending_;
    alarm_.Set(queue_.queue.get(),
               std::chrono::system_clock::now() + (idle_until_ - Clock::now()),
               alarm_tag_.tag());
  }

  // An alarm cannot be moved while it is pending, so it is set again here if
  // there was a request in the meantime.
  void OnAlarm(bool /*ok*/) {
    if (has_ended_) return Release();
    if (Clock::now() < idle_until_ && !queue_.is_closed) {
      SetAlarm();
    } else {
      if (is_writing_) context_.TryCancel();  // so that the write completes
      End(grpc::Status(grpc::DEADLINE_EXCEEDED,
                       "the reflection stream was idle for too long"));
    }
    Release();
  }

  void OnFinished(bool /*ok*/) { Release(); }

  // Called once for each completed operation.
  void Release() {
    if (--pending_ == 0) delete this;
  }

  Reflection& reflection_;
  const RequestStream& request_stream_;
  EventQueue& queue_;
  grpc::ServerContext context_;
  ByteStream stream_;
  grpc::ByteBuffer wire_;
  ReflectionIndex::SentFiles sent_;
  grpc::Alarm alarm_;
  Clock::time_point idle_until_;
  int pending_ = 0;  // operations started on the queue and not completed
  bool is_writing_ = false;
  bool has_ended_ = false;
  std::optional<grpc::Status> status_after_write_;
  MemberTag<Stream> arrival_tag_{this, &Stream::OnArrival};
  MemberTag<Stream> read_tag_{this, &Stream::OnRead};
  MemberTag<Stream> written_tag_{this, &Stream::OnWritten};
  MemberTag<Stream> alarm_tag_{this, &Stream::OnAlarm};
  MemberTag<Stream> finished_tag_{this, &Stream::OnFinished};
};

Reflection::Reflection(std::vector<std::string> services,
                       ReflectionLimits limits)
    : limits_(limits),
      index_(LinkedDescriptors(), WithReflection(std::move(services))),
      request_stream_(
          {[this](auto* context, auto* stream, auto* queue, void* tag) {
             v1_.RequestServerReflectionInfo(context, stream, queue, queue,
                                             tag);
           },
           [this](auto* context, auto* stream, auto* queue, void* tag) {
             v1alpha_.RequestServerReflectionInfo(context, stream, queue, queue,
                                                  tag);
           }}) {}

void Reflection::Register(grpc::ServerBuilder* builder) {
  builder->RegisterService(&v1_);
  builder->RegisterService(&v1alpha_);
}

void Reflection::Start(EventQueue* queue) {
  queue_ = queue;
  for (const RequestStream& request_stream : request_stream_) {
    new Stream(this, &request_stream, queue);
  }
}

// The streams belong to the thread that polls the queue, so an event ends them.
void Reflection::Drain() {
  drain_alarm_.Set(queue_->queue.get(), std::chrono::system_clock::now(),
                   drain_tag_.tag());
}

void Reflection::OnDrain(bool /*ok*/) {
  is_draining_ = true;
  const std::set<Stream*> open = streams_;
  for (Stream* const stream : open) {
    stream->End(grpc::Status(grpc::UNAVAILABLE, "the server is draining"));
  }
}

}  // namespace locus::server
