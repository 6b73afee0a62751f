// locus.v1.EncodingService.
#pragma once

#include "locus/v1/encoding.pb.h"
#include "server/rpc/service.h"

namespace locus::server {

class EncodingService final : public Service {
 public:
  static constexpr char kName[] = "locus.v1.EncodingService";

  explicit EncodingService(ServerState* state);

 private:
  static absl::Status ListSchemes(Call& call,
                                  const v1::ListSchemesRequest& request,
                                  Reply<v1::ListSchemesResponse>* reply);
  static absl::Status Encode(Call& call, const v1::EncodeRequest& request,
                             Reply<v1::EncodeResponse>* reply);
};

}  // namespace locus::server
