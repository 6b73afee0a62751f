#include "client/report/manifest.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/report/metric.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// Reads the members of an object and keeps the first error in `status`.
class Reader {
 public:
  explicit Reader(const Json& json, std::string path = "")
      : json_(json), path_(std::move(path)) {}

  const Json* Find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  std::string String(const char* key) {
    const Json* value = Find(key);
    if (value != nullptr && value->is_string()) {
      return value->get<std::string>();
    }
    return Missing<std::string>(key, "a string");
  }
  // Reads a number, or one of the strings NaN, Infinity and -Infinity, which
  // JSON cannot express as numbers.
  double Number(const char* key) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Json* value = Find(key);
    if (value != nullptr && value->is_number()) return value->get<double>();
    if (value != nullptr && *value == "NaN") {
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (value != nullptr && *value == "Infinity") return kInfinity;
    if (value != nullptr && *value == "-Infinity") return -kInfinity;
    return Missing<double>(key, "a number");
  }
  int64_t Integer(const char* key) {
    const Json* value = Find(key);
    if (value != nullptr && value->is_number_integer()) {
      return value->get<int64_t>();
    }
    return Missing<int64_t>(key, "an integer");
  }
  int64_t Length(const char* key) {
    const int64_t length = Integer(key);
    if (length < 1 && status.ok()) {
      status = absl::InvalidArgumentError(
          absl::StrCat(path_, key, ": is ", length, "; must be at least 1"));
    }
    return length;
  }
  bool Flag(const char* key) {
    const Json* value = Find(key);
    if (value != nullptr && value->is_boolean()) return value->get<bool>();
    return Missing<bool>(key, "true or false");
  }
  const Json& List(const char* key) {
    static const Json kEmpty = Json::array();
    const Json* value = Find(key);
    if (value != nullptr && value->is_array()) return *value;
    Missing<int>(key, "a list");
    return kEmpty;
  }

  absl::Status status;

 private:
  template <typename T>
  T Missing(const char* key, const char* what) {
    if (status.ok()) {
      status = absl::InvalidArgumentError(
          absl::StrCat("is no manifest of an evaluation: ", path_, key,
                       " should be ", what));
    }
    return T();
  }

  const Json& json_;
  const std::string path_;
};

// Reads the fields that rows and differences have in common.
template <typename Row>
void ReadFigures(Reader& reader, Row* row) {
  row->set_scheme_name(reader.String("scheme_name"));
  row->set_eval_length(reader.Length("eval_length"));
  row->set_metric(reader.String("metric"));
  row->set_mean(reader.Number("mean"));
  row->set_ci_low(reader.Number("ci_low"));
  row->set_ci_high(reader.Number("ci_high"));
  row->set_count(reader.Integer("count"));
}

// Calls each(reader) for each object of a list.
template <typename Each>
absl::Status ReadList(const Json& list, const std::string& path, Each each) {
  for (size_t i = 0; i < list.size(); ++i) {
    Reader reader(list[i], absl::StrCat(path, "[", i, "]."));
    each(reader);
    if (!reader.status.ok()) return reader.status;
  }
  return absl::OkStatus();
}

absl::Status ReadResults(const Json& results, v1::EvaluationSummary* summary) {
  Reader reader(results, "results.");
  absl::Status status =
      ReadList(reader.List("rows"), "results.rows",
               [&](Reader& row) { ReadFigures(row, summary->add_rows()); });
  status.Update(ReadList(
      reader.List("differences"), "results.differences", [&](Reader& row) {
        v1::EvaluationDifference* difference = summary->add_differences();
        ReadFigures(row, difference);
        difference->set_baseline_name(row.String("baseline_name"));
      }));
  status.Update(
      ReadList(reader.List("gates"), "results.gates", [&](Reader& row) {
        v1::EvaluationGate* gate = summary->add_gates();
        gate->set_scheme_name(row.String("scheme_name"));
        gate->set_metric(row.String("metric"));
        gate->set_threshold(row.Number("threshold"));
        gate->set_learned_share(row.Number("learned_share"));
        gate->set_passed(row.Flag("passed"));
      }));
  status.Update(reader.status);
  return status;
}

// Returns the distinct values of get(row) in order of appearance.
template <typename T, typename Get>
std::vector<T> Distinct(const Manifest& manifest, Get get) {
  std::vector<T> found;
  std::set<T> seen;
  for (const v1::EvaluationRow& row : manifest.summary.rows()) {
    if (seen.insert(get(row)).second) found.push_back(get(row));
  }
  return found;
}

}  // namespace

absl::StatusOr<Manifest> ParseManifest(const std::string& text) {
  Manifest manifest;
  manifest.json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!manifest.json.is_object()) {
    return absl::InvalidArgumentError(
        "is no manifest of an evaluation: it is not a JSON object");
  }
  Reader reader(manifest.json);
  manifest.experiment = reader.String("experiment");
  manifest.date = reader.String("date");
  manifest.summary.set_winner(reader.String("winner"));
  manifest.summary.set_reason(reader.String("reason"));
  manifest.summary.set_partial(reader.Flag("partial"));
  if (!reader.status.ok()) return reader.status;
  const Json* configuration = reader.Find("configuration");
  const Json* results = reader.Find("results");
  if (configuration == nullptr || results == nullptr) {
    return absl::InvalidArgumentError(
        "is no manifest of an evaluation: configuration or results is missing");
  }
  Reader settings(*configuration, "configuration.");
  manifest.train_length = settings.Length("train_length");
  if (!settings.status.ok()) return settings.status;
  if (manifest.summary.partial()) {
    manifest.summary.clear_winner();
    manifest.summary.set_reason("No winner: the evaluation is partial.");
  }
  const absl::Status status = ReadResults(*results, &manifest.summary);
  if (!status.ok()) return status;
  return manifest;
}

std::vector<std::string> SchemesOf(const Manifest& manifest) {
  return Distinct<std::string>(
      manifest, [](const v1::EvaluationRow& row) { return row.scheme_name(); });
}

std::vector<int64_t> LengthsOf(const Manifest& manifest) {
  std::vector<int64_t> lengths = Distinct<int64_t>(
      manifest, [](const v1::EvaluationRow& row) { return row.eval_length(); });
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

std::vector<std::string> MetricsOf(const Manifest& manifest) {
  std::vector<std::string> metrics = Distinct<std::string>(
      manifest, [](const v1::EvaluationRow& row) { return row.metric(); });
  // The metric of the gates is the deciding metric. Without gates, the order is
  // that of Metric::rank.
  const std::string deciding = manifest.summary.gates_size() > 0
                                   ? manifest.summary.gates(0).metric()
                                   : "";
  std::stable_sort(metrics.begin(), metrics.end(),
                   [&](const std::string& a, const std::string& b) {
                     if ((a == deciding) != (b == deciding)) {
                       return a == deciding;
                     }
                     return MetricOf(a).rank < MetricOf(b).rank;
                   });
  return metrics;
}

const v1::EvaluationRow* FindRow(const Manifest& manifest,
                                 const std::string& scheme, int64_t eval_length,
                                 const std::string& metric) {
  for (const v1::EvaluationRow& row : manifest.summary.rows()) {
    if (row.scheme_name() == scheme && row.eval_length() == eval_length &&
        row.metric() == metric) {
      return &row;
    }
  }
  return nullptr;
}

const v1::EvaluationGate* FindGate(const Manifest& manifest,
                                   const std::string& scheme) {
  for (const v1::EvaluationGate& gate : manifest.summary.gates()) {
    if (gate.scheme_name() == scheme) return &gate;
  }
  return nullptr;
}

}  // namespace locus::client
