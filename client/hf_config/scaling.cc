// Scalings of rotations, each from its block.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/hf_config/reading.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// What more than one scaling needs. 0 is what is not there.
struct Stretch {
  double factor = 0;
  int64_t original = 0;
  int64_t max_length = 0;
  // The original length stands outside of the block.
  bool from_config = false;

  // 0 if a length is not known.
  double RatioOfLengths() const {
    if (original <= 0 || max_length <= 0) return 0;
    return static_cast<double>(max_length) / static_cast<double>(original);
  }
};

absl::Status ReadStretch(HfReading& reading, Fields& block, Stretch* stretch) {
  const std::string original = "original_max_position_embeddings";
  CLIENT_RETURN_IF_ERROR(block.Number({"factor"}, &stretch->factor));
  CLIENT_RETURN_IF_ERROR(
      reading.config.Integer({original}, &stretch->original));
  stretch->from_config = stretch->original > 0;
  CLIENT_RETURN_IF_ERROR(block.Integer({original}, &stretch->original));
  stretch->max_length = reading.max_length;
  if (stretch->original == 0) stretch->original = reading.max_length;
  return absl::OkStatus();
}

absl::Status ReadYarn(Fields& block, const Stretch& stretch,
                      v1::YarnScaling* yarn) {
  yarn->set_factor(stretch.factor);
  if (stretch.original > 0) yarn->set_original_length(stretch.original);
  const auto number = [&](const char* key, auto set) {
    double value = 0;
    CLIENT_RETURN_IF_ERROR(block.Number({key}, &value));
    if (value != 0) set(value);  // a zero counts as left out there
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

absl::Status ReadLlama3(Fields& block, const Stretch& stretch,
                        v1::Llama3Scaling* llama3) {
  double low = 1;
  double high = 4;
  CLIENT_RETURN_IF_ERROR(block.Number({"low_freq_factor"}, &low));
  CLIENT_RETURN_IF_ERROR(block.Number({"high_freq_factor"}, &high));
  llama3->set_factor(stretch.factor);
  llama3->set_low_freq_factor(low);
  llama3->set_high_freq_factor(high);
  if (stretch.original > 0) llama3->set_original_length(stretch.original);
  return absl::OkStatus();
}

// Where the configuration itself has the original length, the ratio of lengths
// is the factor, whatever the block says.
absl::Status ReadLongRope(Fields& block, const Stretch& stretch,
                          v1::LongropeScaling* longrope) {
  double factor = stretch.factor;
  if ((stretch.from_config || factor == 0) && stretch.RatioOfLengths() > 0) {
    factor = stretch.RatioOfLengths();
  }
  if (factor != 0) longrope->set_factor(factor);
  if (stretch.original > 0) longrope->set_original_length(stretch.original);
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
            absl::StrCat(block.name(), ".", key, " is no list of numbers"));
      }
      list->Add(value.get<double>());
    }
  }
  return absl::OkStatus();
}

// Several axes share the channels of a head.
void NoteSections(HfReading& reading, Fields& block, const std::string& key) {
  block.Use(key);
  reading.Note(absl::StrCat(
      block.name(), ".", key,
      " is not applied: words alone have the same position in every section, "
      "and turn as without sections"));
}

// A base that is stretched once and for all, though its type says otherwise.
absl::Status ReadAlpha(HfReading& reading, Fields& block, double* alpha) {
  CLIENT_RETURN_IF_ERROR(block.Number({"alpha"}, alpha));
  if (*alpha == 0) return absl::OkStatus();
  block.Use("factor");
  // Of other scalings, and without effect beside it.
  for (const char* const key :
       {"beta_fast", "beta_slow", "mscale", "mscale_all_dim"}) {
    block.Use(key);
  }
  if (block.Has("xdrope_section")) {
    NoteSections(reading, block, "xdrope_section");
  }
  return absl::OkStatus();
}

// Those that need a factor.
absl::Status ReadByFactor(Fields& block, const std::string& type,
                          const Stretch& stretch, v1::RopeScheme* rope) {
  if (stretch.factor == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(block.name(), ".factor is missing"));
  }
  if (type == "linear") {
    rope->mutable_linear()->set_factor(stretch.factor);
  } else if (type == "ntk") {
    rope->mutable_ntk()->set_factor(stretch.factor);
  } else if (type == "dynamic") {
    rope->mutable_dynamic_ntk()->set_factor(stretch.factor);
    if (stretch.max_length > 0) {
      rope->mutable_dynamic_ntk()->set_max_position(stretch.max_length);
    }
  } else if (type == "yarn") {
    return ReadYarn(block, stretch, rope->mutable_yarn());
  } else if (type == "llama3") {
    return ReadLlama3(block, stretch, rope->mutable_llama3());
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(block.name(), " is of type \"", type,
                     "\", which is no scaling known here"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadScaling(HfReading& reading, Fields& block, double share,
                         v1::RopeScheme* rope) {
  std::string type;
  CLIENT_RETURN_IF_ERROR(block.Text({"rope_type", "type"}, &type));
  block.Use("type");
  if (type == "mrope" || (type == "default" && block.Has("mrope_section"))) {
    NoteSections(reading, block, "mrope_section");
    return absl::OkStatus();
  }
  if (type.empty() && block.Has("factor")) {
    return absl::InvalidArgumentError(
        absl::StrCat(block.name(),
                     ".factor is there, but no rope_type says what it is a "
                     "factor of"));
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
  Stretch stretch;
  CLIENT_RETURN_IF_ERROR(ReadStretch(reading, block, &stretch));
  if (type == "longrope" || type == "su") {
    return ReadLongRope(block, stretch, rope->mutable_longrope());
  }
  if (type == "proportional") {
    rope->mutable_proportional()->set_share(share);
    if (stretch.factor != 0) {
      rope->mutable_proportional()->set_factor(stretch.factor);
    }
    return absl::OkStatus();
  }
  if (type == "yarn" && stretch.factor == 0) {
    stretch.factor = stretch.RatioOfLengths();
  }
  return ReadByFactor(block, type, stretch, rope);
}

}  // namespace locus::client
