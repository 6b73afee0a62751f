#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/hf_config/hf_config.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// Returns the factor of a scaling, or its default.
template <typename Scaling>
Json FactorOf(const Scaling& scaling, double default_factor = 1) {
  return scaling.has_factor() ? scaling.factor() : default_factor;
}

Json ScalingBlock(const v1::RopeScheme& rope) {
  switch (rope.scaling_case()) {
    case v1::RopeScheme::kLinear:
      return {{"rope_type", "linear"}, {"factor", FactorOf(rope.linear())}};
    case v1::RopeScheme::kNtk:
      return {{"rope_type", "ntk"}, {"factor", FactorOf(rope.ntk())}};
    case v1::RopeScheme::kDynamicNtk:
      return {{"rope_type", "dynamic"},
              {"factor", FactorOf(rope.dynamic_ntk())}};
    case v1::RopeScheme::kYarn: {
      const v1::YarnScaling& yarn = rope.yarn();
      Json block = {
          {"rope_type", "yarn"},
          {"factor", FactorOf(yarn)},
          {"original_max_position_embeddings",
           yarn.has_original_length() ? yarn.original_length() : 2048}};
      if (yarn.has_beta_fast()) block["beta_fast"] = yarn.beta_fast();
      if (yarn.has_beta_slow()) block["beta_slow"] = yarn.beta_slow();
      if (yarn.has_truncate()) block["truncate"] = yarn.truncate();
      if (yarn.has_attention_factor()) {
        block["attention_factor"] = yarn.attention_factor();
      }
      if (yarn.has_mscale()) block["mscale"] = yarn.mscale();
      if (yarn.has_mscale_all_dim()) {
        block["mscale_all_dim"] = yarn.mscale_all_dim();
      }
      return block;
    }
    case v1::RopeScheme::kLlama3: {
      const v1::Llama3Scaling& llama3 = rope.llama3();
      return {{"rope_type", "llama3"},
              {"factor", FactorOf(llama3, 8)},
              {"low_freq_factor",
               llama3.has_low_freq_factor() ? llama3.low_freq_factor() : 1.0},
              {"high_freq_factor",
               llama3.has_high_freq_factor() ? llama3.high_freq_factor() : 4.0},
              {"original_max_position_embeddings",
               llama3.has_original_length() ? llama3.original_length() : 8192}};
    }
    case v1::RopeScheme::kLongrope: {
      const v1::LongropeScaling& longrope = rope.longrope();
      Json block = {
          {"rope_type", "longrope"},
          {"factor", FactorOf(longrope)},
          {"original_max_position_embeddings",
           longrope.has_original_length() ? longrope.original_length() : 2048},
          {"short_factor", longrope.short_factors()},
          {"long_factor", longrope.long_factors()}};
      if (longrope.has_attention_factor()) {
        block["attention_factor"] = longrope.attention_factor();
      }
      return block;
    }
    case v1::RopeScheme::kProportional: {
      const v1::ProportionalScaling& proportional = rope.proportional();
      return {{"rope_type", "proportional"},
              {"partial_rotary_factor",
               proportional.has_share() ? proportional.share() : 1.0},
              {"factor", FactorOf(proportional)}};
    }
    case v1::RopeScheme::SCALING_NOT_SET:
      break;
  }
  return {{"rope_type", "default"}};
}

// Returns the partial rotary factor for `rotary_dim` channels. Rounds up where
// necessary, because the library truncates head_dim * factor.
double PartialRotaryFactor(int64_t rotary_dim, int64_t head_dim) {
  const auto whole = static_cast<double>(head_dim);
  double factor = static_cast<double>(rotary_dim) / whole;
  while (static_cast<int64_t>(whole * factor) < rotary_dim) {
    factor = std::nextafter(factor, 2);
  }
  return factor;
}

absl::StatusOr<Json> RopeFields(const v1::RopeScheme& rope, int64_t head_dim) {
  const double theta = rope.has_base() ? rope.base() : 10000;
  Json fields = {{"rope_theta", theta}};
  if (rope.has_rotary_dim()) {
    if (head_dim < rope.rotary_dim()) {
      return absl::InvalidArgumentError(
          "rotary_dim is written as a fraction of the head dimension, which "
          "must be given");
    }
    fields["partial_rotary_factor"] =
        PartialRotaryFactor(rope.rotary_dim(), head_dim);
  }
  if (rope.has_dynamic_ntk()) {
    fields["max_position_embeddings"] = rope.dynamic_ntk().has_max_position()
                                            ? rope.dynamic_ntk().max_position()
                                            : 2048;
  }
  if (rope.scaling_case() != v1::RopeScheme::SCALING_NOT_SET) {
    fields["rope_scaling"] = ScalingBlock(rope);
  }
  return fields;
}

// Whether the layout is interleaved. The default is half-split for proportional
// scaling and interleaved otherwise.
bool IsInterleaved(const v1::RopeScheme& rope) {
  if (rope.layout() == v1::ROPE_LAYOUT_UNSPECIFIED) {
    return !rope.has_proportional();
  }
  return rope.layout() == v1::ROPE_LAYOUT_INTERLEAVED;
}

}  // namespace

absl::StatusOr<Json> WriteHfConfig(const v1::Scheme& scheme, int64_t head_dim) {
  if (scheme.has_randomized()) {
    return absl::InvalidArgumentError(
        "a configuration cannot express randomised positions");
  }
  if (scheme.has_layers()) {
    return absl::InvalidArgumentError(
        "layers that differ are not written: their fields depend on the model "
        "type");
  }
  switch (scheme.kind_case()) {
    case v1::Scheme::kRope:
      return RopeFields(scheme.rope(), head_dim);
    case v1::Scheme::kAlibi: {
      if (scheme.alibi().slopes_size() > 0 ||
          scheme.alibi().rule() == v1::ALIBI_RULE_COURSE) {
        return absl::InvalidArgumentError(
            "a configuration cannot express slopes other than the paper's");
      }
      if (!scheme.alibi().has_bias_max()) return Json{{"alibi", true}};
      // Models with alibi_bias_max keep both fields in attn_config.
      return Json{
          {"attn_config", Json{{"alibi", true},
                               {"alibi_bias_max", scheme.alibi().bias_max()}}}};
    }
    case v1::Scheme::kT5Bias: {
      const v1::T5BiasScheme& t5 = scheme.t5_bias();
      return Json{{"relative_attention_num_buckets",
                   t5.has_bucket_count() ? t5.bucket_count() : 32},
                  {"relative_attention_max_distance",
                   t5.has_max_distance() ? t5.max_distance() : 128}};
    }
    case v1::Scheme::kLearned:
      return Json{
          {"position_embedding_type", "absolute"},
          {"max_position_embeddings", scheme.learned().has_max_length()
                                          ? scheme.learned().max_length()
                                          : 512}};
    default:
      return absl::InvalidArgumentError(
          "no published configuration has a field for this scheme");
  }
}

std::vector<std::string> UnwrittenOf(const v1::Scheme& scheme) {
  std::vector<std::string> notes;
  if (scheme.has_rope()) {
    if (IsInterleaved(scheme.rope())) {
      notes.emplace_back(
          "layout is left out: model_type determines it, and most models use "
          "the half-split layout, while this scheme is interleaved; locus "
          "convert-layout permutes the weights");
    }
    if (scheme.rope().has_ntk()) {
      notes.emplace_back(
          "ntk is written as rope_type ntk, which no released library "
          "supports; a larger rope_theta is equivalent");
    }
    if (scheme.rope().has_longrope() &&
        (scheme.rope().longrope().short_factors().empty() ||
         scheme.rope().longrope().long_factors().empty())) {
      notes.emplace_back(
          "a list of factors of longrope is left out and defaults to 1, but "
          "libraries require both lists, with one number per pair");
    }
    if (scheme.rope().angles() == v1::ROPE_ANGLES_FLOAT32) {
      notes.emplace_back(
          "angles is left out: configurations have no such field");
    }
  }
  if (scheme.has_t5_bias()) {
    notes.emplace_back(
        "bidirectional is left out: the library uses it for encoders only");
  }
  if (scheme.alibi().symmetric()) {
    notes.emplace_back(
        "symmetric is left out: configurations have no such field");
  }
  return notes;
}

}  // namespace locus::client
