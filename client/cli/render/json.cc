#include "client/cli/render/json.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "google/protobuf/util/json_util.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

Json NumberJson(double value, bool is_double) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (is_double) return value;
  // Printed as a double, a float has up to 17 digits. The double nearest to the
  // shortest decimal form of the float prints as that form.
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof(text), static_cast<float>(value));
  std::from_chars(text, end.ptr, value);
  return value;
}

Json ElementJson(const v1::Tensor& tensor, int64_t index) {
  switch (tensor.dtype()) {
    case v1::DATA_TYPE_BOOL:
      return ElementAt(tensor, index) != 0;
    case v1::DATA_TYPE_INT64:
      return static_cast<int64_t>(ElementAt(tensor, index));
    default:
      return NumberJson(ElementAt(tensor, index),
                        tensor.dtype() == v1::DATA_TYPE_FLOAT64);
  }
}

// The nested lists for one index of the axes before `axis`. `next` is the index
// of the first element and is advanced past the last one.
Json NestedJson(const v1::Tensor& tensor, int axis, int64_t& next) {
  if (axis == tensor.shape_size()) return ElementJson(tensor, next++);
  Json list = Json::array();
  // A tensor of shape [1000000, 0] must not become a list of empty lists.
  if (tensor.data().empty() && axis > 0) return list;
  for (int64_t i = 0; i < tensor.shape(axis) && !tensor.data().empty(); ++i) {
    list.push_back(NestedJson(tensor, axis + 1, next));
  }
  return list;
}

}  // namespace

Json TensorJson(const v1::Tensor& tensor) {
  std::string dtype = v1::DataType_Name(tensor.dtype());
  dtype.erase(0, std::string("DATA_TYPE_").size());
  int64_t next = 0;
  return {{"dtype", dtype},
          {"shape",
           std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
          {"data", NestedJson(tensor, 0, next)}};
}

Json CallJson(const CallInfo& info) {
  Json json = {{"request_id", info.request_id}, {"attempts", info.attempts}};
  if (info.queue_time.has_value()) {
    json["queue_us"] = absl::ToDoubleMicroseconds(*info.queue_time);
  }
  if (info.compute_time.has_value()) {
    json["compute_us"] = absl::ToDoubleMicroseconds(*info.compute_time);
  }
  return json;
}

absl::StatusOr<std::string> MessageJson(
    const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return absl::InternalError(status.ToString());
  return json + "\n";
}

std::string JsonLine(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace locus::client
