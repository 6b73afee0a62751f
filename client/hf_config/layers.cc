// Layers that differ from the others.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/hf_config/reading.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// After how many layers a row of layers repeats, if all but the last of each
// round are of one kind; 0 if they are not.
int64_t PeriodOf(const std::vector<bool>& is_last) {
  const auto first = std::find(is_last.begin(), is_last.end(), true);
  const auto period = first - is_last.begin() + 1;
  if (first == is_last.end() || period < 2) return 0;
  for (size_t n = 0; n < is_last.size(); ++n) {
    const bool ends = static_cast<int64_t>(n + 1) % period == 0;
    if (is_last[n] != ends) return 0;
  }
  return period;
}

// A list, which counts as not understood until it is used.
const Json* PeekList(const Fields& config, const std::string& key) {
  const Json* found = config.Peek(key);
  return found != nullptr && found->is_array() ? found : nullptr;
}

// After how many layers comes one that does not turn; 0 if none does, or they
// follow no such rule.
absl::Status ReadNopeInterval(HfReading& reading, int64_t* period) {
  Fields& config = reading.config;
  const Json* turns = PeekList(config, "no_rope_layers");
  if (turns != nullptr && !turns->empty()) {
    std::vector<bool> stand;  // 1 stands for layers that turn
    for (const Json& layer : *turns) stand.push_back(layer == 0);
    *period = PeriodOf(stand);
    const bool all_turn =
        std::find(stand.begin(), stand.end(), true) == stand.end();
    if (*period > 0 || all_turn) {
      config.Use("no_rope_layers");
      config.Use("no_rope_layer_interval");
    }
    return absl::OkStatus();
  }
  if (turns != nullptr) config.Use("no_rope_layers");
  if (!config.Has("no_rope_layer_interval") && reading.type.nope_interval > 0) {
    *period = reading.type.nope_interval;
    reading.NoteDefault("no_rope_layer_interval", *period);
    return absl::OkStatus();
  }
  return config.Integer({"no_rope_layer_interval"}, period);
}

// How many keys layers with a window see; 0 if there are none.
absl::Status ReadWindow(HfReading& reading, int64_t* window) {
  if (!reading.config.Mentions("sliding_window") && reading.type.window > 0) {
    *window = reading.type.window;
    reading.NoteDefault("sliding_window", *window);
    return absl::OkStatus();
  }
  return reading.config.Integer({"sliding_window"}, window);
}

// After how many layers comes one that sees all, from a list of them.
int64_t PeriodOfKinds(const Json& kinds) {
  std::vector<bool> sees_all;
  for (const Json& kind : kinds) {
    if (kind != "full_attention" && kind != "sliding_attention") return 0;
    sees_all.push_back(kind == "full_attention");
  }
  return PeriodOf(sees_all);
}

// The same from what older configurations have instead: a number, or letters
// for local and global layers. Only of models that are known to have it.
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
  std::vector<bool> sees_all;
  for (const char letter : pattern->get<std::string>()) {
    sees_all.push_back(letter == 'G');
  }
  return PeriodOf(sees_all);
}

// The scheme of layers with a window.
absl::StatusOr<v1::Scheme> SlidingScheme(HfReading& reading) {
  v1::Scheme scheme;
  if (reading.sliding_layers_stand) {
    scheme.mutable_none();
    return scheme;
  }
  if (!reading.sliding.has_value()) return reading.model.scheme;
  CLIENT_RETURN_IF_ERROR(ReadRotation(reading, *reading.sliding, &scheme));
  return scheme;
}

// Layers that differ, and no pattern of ours.
void NoteUnpatterned(HfReading& reading, int64_t window) {
  if (reading.full_layers_stand || reading.sliding_layers_stand ||
      (window > 0 && reading.type.full_layers_stand)) {
    reading.Note(
        "some layers have no positions, but it is not understood which");
  }
  if (reading.sliding.has_value() && reading.sliding->theta.has_value()) {
    reading.Note(absl::StrCat("layers with a window turn with base ",
                              *reading.sliding->theta,
                              ", but it is not understood which"));
  }
}

// Layers that see a window alone, and after some of them one that sees all.
absl::Status ReadWindows(HfReading& reading) {
  int64_t window = 0;
  CLIENT_RETURN_IF_ERROR(ReadWindow(reading, &window));
  const Json* kinds = PeekList(reading.config, "layer_types");
  const int64_t period = window < 1         ? 0
                         : kinds != nullptr ? PeriodOfKinds(*kinds)
                                            : PeriodOfPattern(reading);
  if (period == 0) {
    NoteUnpatterned(reading, window);
    return absl::OkStatus();
  }
  CLIENT_ASSIGN_OR_RETURN(v1::Scheme layered, SlidingScheme(reading));
  layered.mutable_layers()->set_period(period);
  layered.mutable_layers()->set_window(window);
  v1::Scheme* other = layered.mutable_layers()->add_others()->mutable_scheme();
  if (reading.full_layers_stand || reading.type.full_layers_stand) {
    reading.Note("layers that see everything have no positions");
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
  if (period <= 1) return ReadWindows(reading);
  reading.model.layered = reading.model.scheme;
  reading.model.layered->mutable_layers()->set_period(period);
  return absl::OkStatus();
}

}  // namespace locus::client
