// Converts the flags of `locus load` into the request that it sends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "grpc/health/v1/health.pb.h"
#include "locus/client/client.h"

namespace locus::client {

// The flags of `locus load` that determine the request.
struct LoadRequestFlags {
  // One of LoadRpcs().
  std::string rpc = "encode";
  // Empty: rope, or all schemes for check-properties.
  std::string scheme;
  std::optional<int64_t> dim;
  std::optional<int64_t> length;
  std::optional<int64_t> head_count;
  std::string dtype = "float32";
  bool causal = false;
  // Size of the tensors in the request, such as "1MiB", instead of `length`.
  std::string payload;
};

struct LoadRequest {
  // Full name of the method, such as "/locus.v1.EncodingService/Encode".
  std::string method;
  std::variant<v1::ListSchemesRequest, v1::EncodeRequest, v1::AttendRequest,
               v1::CheckPropertiesRequest, grpc::health::v1::HealthCheckRequest>
      message;

  std::string Serialized() const;
};

// The names of the calls: list-schemes, encode, attend, check-properties,
// health.
std::vector<std::string> LoadRpcs();

// Returns a usage error if flags are invalid or conflict.
absl::StatusOr<LoadRequest> MakeLoadRequest(const LoadRequestFlags& flags);

// Makes the call once, so that an invalid request is reported before the run.
absl::Status TryLoadRequest(const LoadRequest& request, Client& client);

}  // namespace locus::client
