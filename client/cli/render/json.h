// JSON output of the commands.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "locus/client/client.h"
#include "locus/v1/tensor.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// {"dtype": "FLOAT32", "shape": [2, 2], "data": [[1.0, 0.5], [0.25, "NaN"]]}.
// Numbers have the fewest digits that restore the element exactly. Values that
// JSON cannot represent are strings, as in protobuf's JSON mapping: "NaN",
// "Infinity", "-Infinity". The tensor must have passed CheckTensor().
nlohmann::ordered_json TensorJson(const v1::Tensor& tensor);

// Metadata of a call:
// {"request_id": "...", "attempts": 1, "queue_us": 3.0, "compute_us": 25.0}.
nlohmann::ordered_json CallJson(const CallInfo& info);

// A message on one line, with proto field names and default values included.
absl::StatusOr<std::string> MessageJson(
    const google::protobuf::Message& message);

// The document on one line. Invalid UTF-8 is replaced by U+FFFD.
std::string JsonLine(const nlohmann::ordered_json& document);

}  // namespace locus::client
