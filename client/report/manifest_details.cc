#include "client/report/manifest_details.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace locus::client {
namespace {

using ManifestJson = nlohmann::ordered_json;

// Reads the fields of one entry, and remembers whether all of them were there.
class EntryReader {
 public:
  explicit EntryReader(const ManifestJson& json) : json_(json) {}

  std::string Text(const char* key) {
    const ManifestJson* value = Find(key);
    if (value != nullptr && value->is_string()) {
      return value->get<std::string>();
    }
    complete_ = false;
    return "";
  }
  std::string OptionalText(const char* key) {
    const ManifestJson* value = Find(key);
    return value != nullptr && value->is_string() ? value->get<std::string>()
                                                  : "";
  }
  double Number(const char* key) {
    const std::optional<double> value = OptionalNumber(key);
    complete_ = complete_ && value.has_value();
    return value.value_or(0);
  }
  std::optional<double> OptionalNumber(const char* key) {
    const ManifestJson* value = Find(key);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return value->get<double>();
  }
  // Numbers that are not finite are strings in JSON; they become NaN.
  std::vector<double> Numbers(const char* key) {
    const ManifestJson* value = Find(key);
    std::vector<double> numbers;
    if (value == nullptr || !value->is_array()) {
      complete_ = false;
      return numbers;
    }
    for (const ManifestJson& each : *value) {
      numbers.push_back(each.is_number()
                            ? each.get<double>()
                            : std::numeric_limits<double>::quiet_NaN());
    }
    return numbers;
  }

  bool complete() const { return complete_; }

 private:
  const ManifestJson* Find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  const ManifestJson& json_;
  bool complete_ = true;
};

// Returns an optional member of the document or of its results.
const ManifestJson& OptionalMember(const Manifest& manifest, const char* key) {
  static const ManifestJson kNull;
  if (manifest.json.contains(key)) return manifest.json[key];
  const auto results = manifest.json.find("results");
  if (results != manifest.json.end() && results->is_object() &&
      results->contains(key)) {
    return (*results)[key];
  }
  return kNull;
}

// Returns read(reader) for each complete entry of a list.
template <typename Entry, typename Read>
std::vector<Entry> EntriesOf(const Manifest& manifest, const char* key,
                             Read read) {
  std::vector<Entry> entries;
  const ManifestJson& list = OptionalMember(manifest, key);
  if (!list.is_array()) return entries;
  for (const ManifestJson& json : list) {
    EntryReader reader(json);
    Entry entry = read(reader);
    if (reader.complete()) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

VerdictDetails VerdictOf(const Manifest& manifest) {
  const ManifestJson& json = OptionalMember(manifest, "verdict");
  EntryReader reader(json);
  VerdictDetails verdict{.winner = reader.OptionalText("winner"),
                         .kind = reader.OptionalText("kind"),
                         .text = reader.OptionalText("text"),
                         .next_step = reader.OptionalText("next_step")};
  if (verdict.text.empty() || manifest.summary.partial()) {
    verdict.winner = manifest.summary.winner();
    verdict.text = manifest.summary.reason();
  }
  return verdict;
}

std::vector<TrainingLosses> TrainingCurvesOf(const Manifest& manifest) {
  auto curves = EntriesOf<TrainingLosses>(
      manifest, "training_curves", [](EntryReader& reader) {
        return TrainingLosses{
            .scheme = reader.Text("scheme"),
            .seed = static_cast<int64_t>(reader.Number("seed")),
            .steps = reader.Numbers("steps"),
            .losses = reader.Numbers("losses")};
      });
  std::erase_if(curves, [](const TrainingLosses& curve) {
    return curve.steps.empty() || curve.steps.size() != curve.losses.size();
  });
  return curves;
}

std::vector<EffectiveLengthDetails> EffectiveLengthsOf(
    const Manifest& manifest) {
  return EntriesOf<EffectiveLengthDetails>(
      manifest, "effective_lengths", [](EntryReader& reader) {
        return EffectiveLengthDetails{.scheme = reader.Text("scheme"),
                                      .metric = reader.Text("metric"),
                                      .length = reader.Number("length"),
                                      .ci_low = reader.Number("ci_low"),
                                      .ci_high = reader.Number("ci_high"),
                                      .threshold = reader.Number("threshold")};
      });
}

std::vector<SpreadDetails> SpreadsOf(const Manifest& manifest) {
  return EntriesOf<SpreadDetails>(manifest, "spreads", [](EntryReader& reader) {
    return SpreadDetails{
        .scheme = reader.Text("scheme"),
        .metric = reader.Text("metric"),
        .eval_length = reader.Number("eval_length"),
        .min = reader.Number("min"),
        .q25 = reader.Number("q25"),
        .median = reader.Number("median"),
        .q75 = reader.Number("q75"),
        .max = reader.Number("max"),
        .share_above_95 = reader.OptionalNumber("share_above_95")};
  });
}

int64_t SeedCountOf(const Manifest& manifest) {
  const auto seeds = manifest.json.find("seeds");
  if (seeds != manifest.json.end() && seeds->is_array() && !seeds->empty()) {
    return static_cast<int64_t>(seeds->size());
  }
  int64_t count = 1;
  for (const v1::EvaluationRow& row : manifest.summary.rows()) {
    count = std::max<int64_t>(count, row.count());
  }
  return count;
}

}  // namespace locus::client
