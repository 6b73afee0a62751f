#include "tests/golden/golden_cases.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/encoding/registry.h"

namespace locus::golden {
namespace {

// Returns the value; ends the test program if there is none.
template <typename T>
T Must(absl::StatusOr<T> value, const std::string& name) {
  if (value.ok()) return *std::move(value);
  std::cerr << name << ": " << value.status() << std::endl;
  std::abort();
}

Positions PositionsOf(const Json& json) {
  if (json.contains("ids")) {
    return Must(Positions::Ids(json["ids"].get<std::vector<int64_t>>()), "ids");
  }
  return Must(Positions::Range(json.value("start", int64_t{0}), json["count"]),
              "range");
}

std::optional<Positions> MaybePositions(const Json& json,
                                        const std::string& key) {
  if (!json.contains(key)) return std::nullopt;
  return PositionsOf(json[key]);
}

}  // namespace

const Json& Section(const std::string& name) {
  static const Json* const goldens = [] {
    std::ifstream file(LOCUS_SOURCE_DIR "/tests/golden/goldens.json");
    return new Json(Json::parse(file));
  }();
  return goldens->at(name);
}

double NumberOf(const Json& value) {
  if (!value.is_string()) return value.get<double>();
  return std::strtod(value.get<std::string>().c_str(), nullptr);
}

std::vector<double> NumbersOf(const Json& value) {
  std::vector<double> numbers;
  for (const Json& number : value.is_object() ? value["data"] : value) {
    numbers.push_back(NumberOf(number));
  }
  return numbers;
}

Shape ShapeOf(const Json& tensor) {
  const auto extents = tensor["shape"].get<std::vector<int64_t>>();
  return Shape(extents.begin(), extents.end());
}

std::vector<double> NumbersOf(const TensorView& tensor) {
  std::vector<double> numbers(tensor.element_count());
  ReadRow(tensor.dtype, tensor.data, tensor.element_count(), numbers.data());
  return numbers;
}

TensorView Request::View(const Json& tensor) {
  const bool is_bool = tensor.value("bool", false);
  const DType dtype = is_bool ? DType::kBool : dtype_;
  const std::vector<double> numbers = NumbersOf(tensor);
  const auto count = static_cast<int64_t>(numbers.size());
  std::string& bytes = bytes_.emplace_back(count * SizeOf(dtype), '\0');
  if (is_bool) {
    std::copy(numbers.begin(), numbers.end(), bytes.begin());
  } else {
    WriteRow(dtype, numbers.data(), count, bytes.data());
  }
  return Must(MakeTensorView(dtype, ShapeOf(tensor), bytes), "tensor");
}

std::unique_ptr<Scheme> Request::MakeScheme() {
  const auto named = json_["scheme"].begin();
  const Json& parameters = named.value();
  const SchemeInfo* const info = FindScheme(named.key());
  Arguments arguments;
  for (const Parameter& parameter : info->parameters) {
    const std::string& key = parameter.name;
    // The parameter `yarn.factor` is a member of the object `yarn`.
    const Json::json_pointer path(
        absl::StrCat("/", absl::StrReplaceAll(key, {{".", "/"}})));
    if (!parameters.contains(path)) continue;
    const Json& value = parameters.at(path);
    switch (parameter.kind) {
      case ParameterKind::kNumber:
        arguments.Set(key, value.get<double>());
        break;
      case ParameterKind::kInteger:
        arguments.Set(key, value.get<int64_t>());
        break;
      case ParameterKind::kFlag:
        arguments.Set(key, value.get<bool>());
        break;
      case ParameterKind::kChoice:
        arguments.Set(key, value.get<std::string>());
        break;
      case ParameterKind::kNumbers:
        arguments.Set(key, value.get<std::vector<double>>());
        break;
      case ParameterKind::kTensor:
        arguments.Set(key, View(value));
        break;
      case ParameterKind::kSeed:
        arguments.Set(key, value.get<uint64_t>());
        break;
      case ParameterKind::kGroup:
        arguments.Set(key, true);
        break;
    }
  }
  return Must(locus::MakeScheme(*info, std::move(arguments)), named.key());
}

EncodeOptions Request::Encode() {
  EncodeOptions options;
  options.positions = MaybePositions(json_, "positions");
  options.key_positions = MaybePositions(json_, "key_positions");
  options.dim = json_.value("dim", int64_t{0});
  options.head_count = json_.value("head_count", int64_t{0});
  if (json_.contains("input")) options.input = View(json_["input"]);
  options.dtype = dtype_;
  options.of_keys = json_.value("side", "") == "KEYS";
  return options;
}

AttentionInputs Request::Heads() {
  return {View(json_["q"]), View(json_["k"]), View(json_["v"])};
}

ModuleInputs Request::Module() {
  ModuleInputs inputs;
  if (json_.contains("x")) inputs.x = View(json_["x"]);
  inputs.tokens = json_.value("tokens", std::vector<std::string>());
  inputs.dim = json_.value("dim", int64_t{0});
  inputs.seed = json_.value("seed", uint64_t{0});
  inputs.head_count = json_.value("head_count", int64_t{0});
  if (json_.contains("weights")) {
    const Json& weights = json_["weights"];
    inputs.weights = ModuleWeights{View(weights["wq"]), View(weights["wk"]),
                                   View(weights["wv"]), View(weights["wo"])};
  }
  return inputs;
}

AttentionOptions Request::Options(int64_t query_count, int64_t key_count) {
  const Json json = json_.value("options", Json::object());
  AttentionOptions options;
  options.causal = json.value("causal", false);
  options.query_offset = json.value("bottom_right", false)
                             ? key_count - query_count
                             : json.value("query_offset", int64_t{0});
  options.window = json.value("window", int64_t{0});
  if (json.contains("scale")) options.scale = json["scale"].get<double>();
  options.softcap = json.value("softcap", 0.0);
  if (json.contains("mask")) options.mask = View(json["mask"]);
  options.query_positions = MaybePositions(json, "query_positions");
  options.key_positions = MaybePositions(json, "key_positions");
  options.return_weights = json.value("return_weights", false);
  options.return_log_sum_exp = true;
  return options;
}

int64_t Request::max_position() const {
  int64_t max = 0;
  for (const Json& object : {json_, json_.value("options", Json::object())}) {
    for (const char* key : {"positions", "query_positions", "key_positions"}) {
      if (object.contains(key)) {
        max = std::max(max, PositionsOf(object[key]).max());
      }
    }
  }
  return max;
}

}  // namespace locus::golden
