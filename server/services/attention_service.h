// The handler of locus.v1.AttentionService.
#pragma once

#include "locus/v1/attention.pb.h"
#include "server/rpc/service.h"

namespace locus::server {

// Computes attention over given heads, or a multi-head attention module.
// Thread-safe.
class AttentionService final : public Service {
 public:
  static constexpr char kName[] = "locus.v1.AttentionService";

  // `state` must outlive the service.
  explicit AttentionService(ServerState* state);

 private:
  static absl::StatusOr<Computation<v1::AttendResponse>> Attend(
      RpcScope& call, const v1::AttendRequest& request);
};

}  // namespace locus::server
