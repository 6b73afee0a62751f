// locus.v1.AttentionService.
#pragma once

#include "locus/v1/attention.pb.h"
#include "server/unary_method.h"

namespace locus::server {

class AttentionService final : public UnaryService {
 public:
  static constexpr char kName[] = "locus.v1.AttentionService";

  explicit AttentionService(ServerState* state);

 private:
  static absl::Status Attend(Call& call, const v1::AttendRequest& request,
                             v1::AttendResponse* response);
};

}  // namespace locus::server
