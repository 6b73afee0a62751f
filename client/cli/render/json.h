// JSON for programs to read.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "locus/client/client.h"
#include "google/protobuf/message.h"
#include "locus/v1/tensor.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// {"dtype": "FLOAT32", "shape": [2, 2], "data": [[1.0, 0.5], [0.25, "NaN"]]}.
// Numbers have the fewest digits that give the element back. What JSON has no
// number for is a string, as in protobuf's own mapping: "NaN", "Infinity",
// "-Infinity". The tensor has passed CheckTensor.
nlohmann::ordered_json TensorJson(const v1::Tensor& tensor);

// {"request_id": "...", "attempts": 1, "queue_us": 3.0, "compute_us": 25.0}.
nlohmann::ordered_json CallJson(const CallInfo& info);

// A message with the names of the contract and all its fields, on one line.
absl::StatusOr<std::string> MessageJson(
    const google::protobuf::Message& message);

// One line. Bytes that are not UTF-8 are replaced.
std::string JsonLine(const nlohmann::ordered_json& document);

}  // namespace locus::client
