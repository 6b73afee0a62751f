// The handlers of locus.v1.EncodingService.
#pragma once

#include "locus/v1/encoding.pb.h"
#include "server/rpc/service.h"

namespace locus::server {

// Lists the schemes, and computes their encodings. Thread-safe.
class EncodingService final : public Service {
 public:
  static constexpr char kName[] = "locus.v1.EncodingService";

  // `state` must outlive the service.
  explicit EncodingService(ServerState* state);

 private:
  static absl::StatusOr<Computation<v1::ListSchemesResponse>> ListSchemes(
      RpcScope& call, const v1::ListSchemesRequest& request);
  static absl::StatusOr<Computation<v1::EncodeResponse>> Encode(
      RpcScope& call, const v1::EncodeRequest& request);
};

}  // namespace locus::server
