// Responses whose tensors are sent without being copied.
//
// Protobuf would copy the bytes of a result into the message, and a second time
// into the buffer that gRPC sends. A Response keeps them in the buffers that
// core computed: the message holds everything of a tensor except `data`, and
// ToWire() inserts the buffers as slices that own them. The bytes on the wire
// are identical to protobuf's own serialisation. See
// docs/adr/0007-zero-copy-messages.md.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <map>

#include "core/simd/aligned_buffer.h"
#include "locus/v1/tensor.pb.h"

namespace locus::server {

// The data of the tensors of one message, by tensor. Not thread-safe.
class ZeroCopyTensors {
 public:
  // Takes ownership of the data of `tensor`. `tensor` must be part of the
  // message, must have an empty `data` field, and must not move.
  void Add(const v1::Tensor* tensor, AlignedBuffer<char> bytes, int64_t size);

  bool empty() const { return bytes_.empty(); }
  // The size of the data added for `message`; 0 if none was added. `message`
  // may be of any type.
  int64_t SizeFor(const google::protobuf::Message& message) const;
  // Removes the data that was added for `message` and returns it as a slice
  // that owns it. Requires SizeFor(message) > 0.
  grpc::Slice Take(const google::protobuf::Message& message);

 private:
  struct Bytes {
    AlignedBuffer<char> buffer;
    int64_t size;
  };
  std::map<const google::protobuf::Message*, Bytes> bytes_;
};

// The response of a handler: a message, and the data of its large tensors.
template <typename Message>
struct Response {
  Message message;
  ZeroCopyTensors tensors;
};

// The size of the serialised message in bytes, including its tensors.
int64_t WireSize(const google::protobuf::Message& message,
                 const ZeroCopyTensors& tensors);

// Serialises the message, and moves the tensors into the result. Equal
// responses have equal bytes, because maps are written in the order of their
// keys.
grpc::ByteBuffer ToWire(const google::protobuf::Message& message,
                        ZeroCopyTensors* tensors);

}  // namespace locus::server
