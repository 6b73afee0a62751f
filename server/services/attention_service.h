// locus.v1.AttentionService.
#pragma once

#include "locus/v1/attention.pb.h"
#include "server/rpc/service.h"

namespace locus::server {

class AttentionService final : public Service {
 public:
  static constexpr char kName[] = "locus.v1.AttentionService";

  explicit AttentionService(ServerState* state);

 private:
  static absl::Status Attend(Call& call, const v1::AttendRequest& request,
                             Reply<v1::AttendResponse>* reply);
};

}  // namespace locus::server
