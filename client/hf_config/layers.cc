// Reads patterns of NoPE and sliding-window layers.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/hf_config/reading.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// Returns the period of a layer pattern in which exactly the last layer of each
// period is true; 0 if the layers follow no such pattern.
int64_t PeriodOf(const std::vector<bool>& is_last) {
  const auto first = std::find(is_last.begin(), is_last.end(), true);
  const auto period = first - is_last.begin() + 1;
  if (first == is_last.end() || period < 2) return 0;
  for (size_t n = 0; n < is_last.size(); ++n) {
    const bool expected = static_cast<int64_t>(n + 1) % period == 0;
    if (is_last[n] != expected) return 0;
  }
  return period;
}

// Returns a list without marking it as used, or null.
const Json* PeekList(const Fields& config, const std::string& key) {
  const Json* found = config.Peek(key);
  return found != nullptr && found->is_array() ? found : nullptr;
}

// Reads the interval of the NoPE layers; 0 if there are none, or they are not
// periodic.
absl::Status ReadNopeInterval(HfReading& reading, int64_t* period) {
  Fields& config = reading.config;
  // Despite its name, the list has 1 for RoPE layers and 0 for NoPE layers.
  const Json* layers = PeekList(config, "no_rope_layers");
  if (layers != nullptr && !layers->empty()) {
    std::vector<bool> is_nope;
    for (const Json& layer : *layers) is_nope.push_back(layer == 0);
    *period = PeriodOf(is_nope);
    const bool all_use_rope =
        std::find(is_nope.begin(), is_nope.end(), true) == is_nope.end();
    if (*period > 0 || all_use_rope) {
      config.Use("no_rope_layers");
      config.Use("no_rope_layer_interval");
    }
    return absl::OkStatus();
  }
  if (layers != nullptr) config.Use("no_rope_layers");
  if (!config.Has("no_rope_layer_interval") && reading.type.nope_interval > 0) {
    *period = reading.type.nope_interval;
    reading.NoteDefault("no_rope_layer_interval", *period);
    return absl::OkStatus();
  }
  return config.Integer({"no_rope_layer_interval"}, period);
}

// Reads the size of the sliding window; 0 if there is none.
absl::Status ReadWindow(HfReading& reading, int64_t* window) {
  if (!reading.config.Mentions("sliding_window") && reading.type.window > 0) {
    *window = reading.type.window;
    reading.NoteDefault("sliding_window", *window);
    return absl::OkStatus();
  }
  return reading.config.Integer({"sliding_window"}, window);
}

// Returns the interval of the full-attention layers from a layer_types list; 0
// if they are not periodic.
int64_t PeriodOfLayerTypes(const Json& layer_types) {
  std::vector<bool> is_full;
  for (const Json& type : layer_types) {
    if (type != "full_attention" && type != "sliding_attention") return 0;
    is_full.push_back(type == "full_attention");
  }
  return PeriodOf(is_full);
}

// Returns the interval of the full-attention layers from
// sliding_window_pattern, which older configurations have instead of
// layer_types: a number, or letters for local (L) and global (G) layers. Only
// read for model types that are known to have it.
int64_t PeriodOfPattern(HfReading& reading) {
  if (reading.type.window_pattern == 0) return 0;
  const Json* pattern = reading.config.Find({"sliding_window_pattern"});
  if (pattern == nullptr) {
    reading.NoteDefault("sliding_window_pattern", reading.type.window_pattern);
    return reading.type.window_pattern;
  }
  if (pattern->is_number_integer()) {
    const auto period = pattern->get<int64_t>();
    return period > 1 ? period : 0;
  }
  if (!pattern->is_string()) return 0;
  std::vector<bool> is_full;
  for (const char letter : pattern->get<std::string>()) {
    is_full.push_back(letter == 'G');
  }
  return PeriodOf(is_full);
}

// Returns the scheme of the sliding-window layers.
absl::StatusOr<v1::Scheme> SlidingScheme(HfReading& reading) {
  v1::Scheme scheme;
  if (reading.sliding_layers_use_nope) {
    scheme.mutable_none();
    return scheme;
  }
  if (!reading.sliding.has_value()) return reading.model.scheme;
  CLIENT_RETURN_IF_ERROR(ReadRotation(reading, *reading.sliding, &scheme));
  return scheme;
}

// Adds notes about layers that differ in a way that is not periodic.
void NoteIrregularLayers(HfReading& reading, int64_t window) {
  if (reading.full_layers_use_nope || reading.sliding_layers_use_nope ||
      (window > 0 && reading.type.full_layers_use_nope)) {
    reading.Note(
        "some layers have no positions (NoPE), but it is not understood which");
  }
  if (reading.sliding.has_value() && reading.sliding->theta.has_value()) {
    reading.Note(absl::StrCat(
        "sliding-window layers have base ", *reading.sliding->theta,
        ", but it is not understood which layers those are"));
  }
}

// Reads a pattern of sliding-window layers with a full-attention layer at the
// end of each period.
absl::Status ReadSlidingWindows(HfReading& reading) {
  int64_t window = 0;
  CLIENT_RETURN_IF_ERROR(ReadWindow(reading, &window));
  const Json* layer_types = PeekList(reading.config, "layer_types");
  int64_t period = 0;
  if (window > 0) {
    period = layer_types != nullptr ? PeriodOfLayerTypes(*layer_types)
                                    : PeriodOfPattern(reading);
  }
  if (period == 0) {
    NoteIrregularLayers(reading, window);
    return absl::OkStatus();
  }
  CLIENT_ASSIGN_OR_RETURN(v1::Scheme layered, SlidingScheme(reading));
  layered.mutable_layers()->set_period(period);
  layered.mutable_layers()->set_window(window);
  v1::Scheme* other = layered.mutable_layers()->add_others()->mutable_scheme();
  if (reading.full_layers_use_nope || reading.type.full_layers_use_nope) {
    reading.Note("full-attention layers have no positions (NoPE)");
    other->mutable_none();
  } else {
    *other = reading.model.scheme;
  }
  reading.model.layered = std::move(layered);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadLayers(HfReading& reading) {
  int64_t period = 0;
  CLIENT_RETURN_IF_ERROR(ReadNopeInterval(reading, &period));
  if (period <= 1) return ReadSlidingWindows(reading);
  reading.model.layered = reading.model.scheme;
  reading.model.layered->mutable_layers()->set_period(period);
  return absl::OkStatus();
}

}  // namespace locus::client
