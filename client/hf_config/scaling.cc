// Reads RoPE scalings from their blocks.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/hf_config/reading.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// Parameters that several scalings have in common; 0 if absent.
struct ScalingParameters {
  double factor = 0;
  // Context length before the scaling.
  int64_t original_length = 0;
  int64_t max_length = 0;
  // The original length is a field of the configuration, not of the block.
  bool original_from_config = false;

  // Returns max_length / original_length, or 0 if one is unknown.
  double LengthRatio() const {
    if (original_length <= 0 || max_length <= 0) return 0;
    return static_cast<double>(max_length) /
           static_cast<double>(original_length);
  }
};

absl::Status ReadScalingParameters(HfReading& reading, Fields& block,
                                   ScalingParameters* parameters) {
  const std::string original = "original_max_position_embeddings";
  CLIENT_RETURN_IF_ERROR(block.Number({"factor"}, &parameters->factor));
  CLIENT_RETURN_IF_ERROR(
      reading.config.Integer({original}, &parameters->original_length));
  parameters->original_from_config = parameters->original_length > 0;
  CLIENT_RETURN_IF_ERROR(
      block.Integer({original}, &parameters->original_length));
  parameters->max_length = reading.max_length;
  if (parameters->original_length == 0) {
    parameters->original_length = reading.max_length;
  }
  return absl::OkStatus();
}

absl::Status ReadYarn(Fields& block, const ScalingParameters& parameters,
                      v1::YarnScaling* yarn) {
  yarn->set_factor(parameters.factor);
  if (parameters.original_length > 0) {
    yarn->set_original_length(parameters.original_length);
  }
  const auto number = [&](const char* key, auto set) {
    double value = 0;
    CLIENT_RETURN_IF_ERROR(block.Number({key}, &value));
    if (value != 0) set(value);  // The library treats 0 as absent.
    return absl::OkStatus();
  };
  CLIENT_RETURN_IF_ERROR(
      number("beta_fast", [&](double v) { yarn->set_beta_fast(v); }));
  CLIENT_RETURN_IF_ERROR(
      number("beta_slow", [&](double v) { yarn->set_beta_slow(v); }));
  CLIENT_RETURN_IF_ERROR(number(
      "attention_factor", [&](double v) { yarn->set_attention_factor(v); }));
  CLIENT_RETURN_IF_ERROR(
      number("mscale", [&](double v) { yarn->set_mscale(v); }));
  CLIENT_RETURN_IF_ERROR(
      number("mscale_all_dim", [&](double v) { yarn->set_mscale_all_dim(v); }));
  if (block.Has("truncate")) yarn->set_truncate(block.Flag("truncate"));
  return absl::OkStatus();
}

absl::Status ReadLlama3(Fields& block, const ScalingParameters& parameters,
                        v1::Llama3Scaling* llama3) {
  double low = 1;
  double high = 4;
  CLIENT_RETURN_IF_ERROR(block.Number({"low_freq_factor"}, &low));
  CLIENT_RETURN_IF_ERROR(block.Number({"high_freq_factor"}, &high));
  llama3->set_factor(parameters.factor);
  llama3->set_low_freq_factor(low);
  llama3->set_high_freq_factor(high);
  if (parameters.original_length > 0) {
    llama3->set_original_length(parameters.original_length);
  }
  return absl::OkStatus();
}

// If the original length is a field of the configuration, the ratio of lengths
// overrides the factor of the block.
absl::Status ReadLongRope(Fields& block, const ScalingParameters& parameters,
                          v1::LongropeScaling* longrope) {
  double factor = parameters.factor;
  if ((parameters.original_from_config || factor == 0) &&
      parameters.LengthRatio() > 0) {
    factor = parameters.LengthRatio();
  }
  if (factor != 0) longrope->set_factor(factor);
  if (parameters.original_length > 0) {
    longrope->set_original_length(parameters.original_length);
  }
  double attention_factor = 0;
  CLIENT_RETURN_IF_ERROR(block.Number({"attention_factor"}, &attention_factor));
  if (attention_factor != 0) longrope->set_attention_factor(attention_factor);
  for (const auto& [key, list] :
       {std::pair("short_factor", longrope->mutable_short_factors()),
        std::pair("long_factor", longrope->mutable_long_factors())}) {
    const Json* found = block.Find({key});
    if (found == nullptr || !found->is_array()) {
      return absl::InvalidArgumentError(
          absl::StrCat(block.name(), ".", key, " is missing"));
    }
    for (const Json& value : *found) {
      if (!value.is_number()) {
        return absl::InvalidArgumentError(
            absl::StrCat(block.name(), ".", key, " is not a list of numbers"));
      }
      list->Add(value.get<double>());
    }
  }
  return absl::OkStatus();
}

// Adds a note about multi-axis RoPE, in which several position axes share the
// channels of a head.
void NoteSections(HfReading& reading, Fields& block, const std::string& key) {
  block.Use(key);
  reading.Note(absl::StrCat(
      block.name(), ".", key,
      " is not applied: text tokens have the same position in every section, "
      "which equals RoPE without sections"));
}

// Reads `alpha`, which scales the base by a fixed factor (NTK-aware scaling)
// even though the type is dynamic.
absl::Status ReadAlpha(HfReading& reading, Fields& block, double* alpha) {
  CLIENT_RETURN_IF_ERROR(block.Number({"alpha"}, alpha));
  if (*alpha == 0) return absl::OkStatus();
  block.Use("factor");
  // Fields of other scalings, which have no effect together with alpha.
  for (const char* const key :
       {"beta_fast", "beta_slow", "mscale", "mscale_all_dim"}) {
    block.Use(key);
  }
  if (block.Has("xdrope_section")) {
    NoteSections(reading, block, "xdrope_section");
  }
  return absl::OkStatus();
}

// Reads the scalings that require a factor.
absl::Status ReadByFactor(Fields& block, const std::string& type,
                          const ScalingParameters& parameters,
                          v1::RopeScheme* rope) {
  if (parameters.factor == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(block.name(), ".factor is missing"));
  }
  if (type == "linear") {
    rope->mutable_linear()->set_factor(parameters.factor);
  } else if (type == "ntk") {
    rope->mutable_ntk()->set_factor(parameters.factor);
  } else if (type == "dynamic") {
    rope->mutable_dynamic_ntk()->set_factor(parameters.factor);
    if (parameters.max_length > 0) {
      rope->mutable_dynamic_ntk()->set_max_position(parameters.max_length);
    }
  } else if (type == "yarn") {
    return ReadYarn(block, parameters, rope->mutable_yarn());
  } else if (type == "llama3") {
    return ReadLlama3(block, parameters, rope->mutable_llama3());
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(block.name(), " is of type \"", type,
                     "\", which is not a supported scaling"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadScaling(HfReading& reading, Fields& block,
                         double partial_rotary_factor, v1::RopeScheme* rope) {
  std::string type;
  CLIENT_RETURN_IF_ERROR(block.Text({"rope_type", "type"}, &type));
  block.Use("type");
  if (type == "mrope" || (type == "default" && block.Has("mrope_section"))) {
    NoteSections(reading, block, "mrope_section");
    return absl::OkStatus();
  }
  if (type.empty() && block.Has("factor")) {
    return absl::InvalidArgumentError(
        absl::StrCat(block.name(), ".factor is given without rope_type"));
  }
  if (type.empty() || type == "default") return absl::OkStatus();
  if (type == "dynamic" || type == "xdrope") {
    double alpha = 0;
    CLIENT_RETURN_IF_ERROR(ReadAlpha(reading, block, &alpha));
    if (alpha != 0) {
      rope->mutable_ntk()->set_factor(alpha);
      return absl::OkStatus();
    }
  }
  ScalingParameters parameters;
  CLIENT_RETURN_IF_ERROR(ReadScalingParameters(reading, block, &parameters));
  if (type == "longrope" || type == "su") {
    return ReadLongRope(block, parameters, rope->mutable_longrope());
  }
  if (type == "proportional") {
    rope->mutable_proportional()->set_share(partial_rotary_factor);
    if (parameters.factor != 0) {
      rope->mutable_proportional()->set_factor(parameters.factor);
    }
    return absl::OkStatus();
  }
  if (type == "yarn" && parameters.factor == 0) {
    parameters.factor = parameters.LengthRatio();
  }
  return ReadByFactor(block, type, parameters, rope);
}

}  // namespace locus::client
