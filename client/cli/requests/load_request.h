// What `locus load` calls: flags turned into a request of a chosen size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/client/client.h"
#include "grpc/health/v1/health.pb.h"

namespace locus::client {

struct LoadRequestFlags {
  std::string rpc = "encode";
  // Empty: rope; of check-properties: all of them.
  std::string scheme;
  std::optional<int64_t> dim;
  std::optional<int64_t> length;
  std::optional<int64_t> head_count;
  std::string dtype = "float32";
  bool causal = false;
  // Of the tensors in the request, instead of a length: "1MiB".
  std::string payload;
};

struct LoadRequest {
  // "/locus.v1.EncodingService/Encode".
  std::string method;
  std::variant<v1::ListSchemesRequest, v1::EncodeRequest, v1::AttendRequest,
               v1::CheckPropertiesRequest, grpc::health::v1::HealthCheckRequest>
      message;

  std::string Serialized() const;
};

// list-schemes, encode, attend, check-properties, health.
std::vector<std::string> LoadRpcs();

// A usage error if flags make no sense or do not go together.
absl::StatusOr<LoadRequest> MakeLoadRequest(const LoadRequestFlags& flags);

// Makes the call once, so that what is wrong with it is told before many are
// made.
absl::Status TryLoadRequest(const LoadRequest& request, Client& client);

}  // namespace locus::client
