// What a handler answers: a message, and the tensors that travel beside it.
//
// Protobuf would copy the bytes of a result into the message, and once more
// into what gRPC sends. Here they stay where core computed them until gRPC has
// sent them: the message has everything of a tensor but `data`, and only when
// it is written do the bytes take their place, as slices that own them. What
// goes over the wire is, to the byte, what Protobuf would have written.
//
// `server_transport_bench` (tests/server) compares calls with the time that
// their kernel and an echo of the same bytes take.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <map>

#include "core/simd/aligned_buffer.h"
#include "locus/v1/tensor.pb.h"

namespace locus::server {

// Bytes of the tensors of one message.
class Attachments {
 public:
  // `tensor` is part of the message, has no data, and stays where it is.
  void Add(const v1::Tensor* tensor, AlignedBuffer<char> bytes, int64_t size);

  bool empty() const { return bytes_.empty(); }
  // How many bytes belong into `message`, which may be any; 0 if none do.
  int64_t SizeFor(const google::protobuf::Message& message) const;
  // Those bytes, as a slice that owns them.
  grpc::Slice Take(const google::protobuf::Message& message);

 private:
  struct Bytes {
    AlignedBuffer<char> buffer;
    int64_t size;
  };
  std::map<const google::protobuf::Message*, Bytes> bytes_;
};

template <typename Message>
struct Reply {
  Message message;
  Attachments attachments;
};

// How many bytes a message takes on the wire, attachments included.
int64_t WireSize(const google::protobuf::Message& message,
                 const Attachments& attachments);

// Those bytes. Equal replies have equal bytes, maps included. The attachments
// are gone with them.
grpc::ByteBuffer ToWire(const google::protobuf::Message& message,
                        Attachments* attachments);

}  // namespace locus::server
