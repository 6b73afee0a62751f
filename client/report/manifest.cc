#include "client/report/manifest.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
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

// The chance level of a gate that does not state it.
double ChanceOf(const v1::EvaluationGate& gate) {
  const Metric metric = MetricOf(gate.metric());
  if (metric.better == Better::kLess) return gate.threshold();
  return metric.chance.value_or(0);
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
        gate->set_chance(row.Find("chance") != nullptr ? row.Number("chance")
                                                       : ChanceOf(*gate));
      }));
  status.Update(reader.status);
  return status;
}

// Reads a list of numbers.
template <typename Numbers>
void ReadNumbers(Reader& reader, const char* key, Numbers* numbers) {
  for (const Json& number : reader.List(key)) {
    const Json object = {{key, number}};
    Reader entry(object);
    numbers->Add(entry.Number(key));
    if (reader.status.ok()) reader.status = entry.status;
  }
}

// Calls each(reader) for each object of an optional list.
template <typename Each>
absl::Status ReadOptional(const Json& manifest, const char* key, Each each) {
  Reader reader(manifest);
  if (reader.Find(key) == nullptr) return absl::OkStatus();
  absl::Status status = ReadList(reader.List(key), key, each);
  status.Update(reader.status);
  return status;
}

void ReadEffectiveLength(Reader& row, v1::EffectiveLength* effective) {
  effective->set_scheme_name(row.String("scheme"));
  effective->set_metric(row.String("metric"));
  effective->set_length(row.Integer("length"));
  effective->set_ci_low(row.Integer("ci_low"));
  effective->set_ci_high(row.Integer("ci_high"));
  effective->set_threshold(row.Number("threshold"));
}

void ReadSpread(Reader& row, v1::EvaluationSpread* spread) {
  spread->set_scheme_name(row.String("scheme"));
  spread->set_eval_length(row.Length("eval_length"));
  spread->set_metric(row.String("metric"));
  spread->set_min(row.Number("min"));
  spread->set_q25(row.Number("q25"));
  spread->set_median(row.Number("median"));
  spread->set_q75(row.Number("q75"));
  spread->set_max(row.Number("max"));
  const Json* share = row.Find("share_above_95");
  if (share != nullptr && !share->is_null()) {
    spread->set_share_above_95(row.Number("share_above_95"));
  }
  if (row.Find("worst_seed") != nullptr) {
    spread->set_worst_seed(static_cast<uint64_t>(row.Integer("worst_seed")));
  }
}

void ReadCurve(Reader& row, v1::TrainingCurve* curve) {
  curve->set_scheme_name(row.String("scheme"));
  curve->set_seed(static_cast<uint64_t>(row.Integer("seed")));
  ReadNumbers(row, "steps", curve->mutable_steps());
  ReadNumbers(row, "losses", curve->mutable_losses());
  if (row.status.ok() && curve->steps_size() != curve->losses_size()) {
    row.status = absl::InvalidArgumentError(absl::StrCat(
        "is no manifest of an evaluation: a training curve has ",
        curve->steps_size(), " steps and ", curve->losses_size(), " losses"));
  }
}

void ReadAnswer(Reader& row, v1::OrderingAnswer* answer) {
  answer->set_scheme_name(row.String("scheme"));
  ReadNumbers(row, "values", answer->mutable_values());
  answer->set_probability(row.Number("probability"));
  answer->set_ci_low(row.Number("ci_low"));
  answer->set_ci_high(row.Number("ci_high"));
  answer->set_count(row.Integer("count"));
}

// Reads the lists that manifests of earlier versions do not have.
absl::Status ReadAdditions(const Json& manifest,
                           v1::EvaluationSummary* summary) {
  absl::Status status =
      ReadOptional(manifest, "effective_lengths", [&](Reader& row) {
        ReadEffectiveLength(row, summary->add_effective_lengths());
      });
  status.Update(ReadOptional(manifest, "spreads", [&](Reader& row) {
    ReadSpread(row, summary->add_spreads());
  }));
  status.Update(ReadOptional(manifest, "training_curves", [&](Reader& row) {
    ReadCurve(row, summary->add_training_curves());
  }));
  status.Update(ReadOptional(manifest, "ordering_answers", [&](Reader& row) {
    ReadAnswer(row, summary->add_ordering_answers());
  }));
  return status;
}

v1::VerdictKind KindOf(const std::string& name) {
  v1::VerdictKind kind = v1::VERDICT_KIND_UNSPECIFIED;
  v1::VerdictKind_Parse(
      absl::StrCat("VERDICT_KIND_", absl::AsciiStrToUpper(name)), &kind);
  return kind;
}

// Reads winner, reason and verdict. Patterns and partial evaluations have no
// winner, whatever the text says.
absl::Status ReadVerdict(Reader& reader, bool is_pattern,
                         v1::EvaluationSummary* summary) {
  v1::EvaluationVerdict* verdict = summary->mutable_verdict();
  verdict->set_winner(reader.String("winner"));
  verdict->set_text(reader.String("reason"));
  summary->set_reason(verdict->text());
  summary->set_partial(reader.Flag("partial"));
  if (!reader.status.ok()) return reader.status;
  if (const Json* given = reader.Find("verdict"); given != nullptr) {
    Reader fields(*given, "verdict.");
    verdict->set_kind(KindOf(fields.String("kind")));
    verdict->set_winner(fields.String("winner"));
    verdict->set_text(fields.String("text"));
    verdict->set_next_step(fields.String("next_step"));
    if (!fields.status.ok()) return fields.status;
  }
  if (summary->partial()) {
    verdict->Clear();
    verdict->set_kind(v1::VERDICT_KIND_PARTIAL);
    verdict->set_text("No winner: the evaluation is partial.");
    summary->set_reason(verdict->text());
  }
  if (is_pattern) verdict->clear_winner();
  summary->set_winner(verdict->winner());
  return absl::OkStatus();
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
  if (!reader.status.ok()) return reader.status;
  absl::Status status =
      ReadVerdict(reader, manifest.is_pattern(), &manifest.summary);
  if (!status.ok()) return status;
  const Json* configuration = reader.Find("configuration");
  const Json* results = reader.Find("results");
  if (configuration == nullptr || results == nullptr) {
    return absl::InvalidArgumentError(
        "is no manifest of an evaluation: configuration or results is missing");
  }
  Reader settings(*configuration, "configuration.");
  manifest.train_length = settings.Length("train_length");
  if (!settings.status.ok()) return settings.status;
  status = ReadResults(*results, &manifest.summary);
  status.Update(ReadAdditions(manifest.json, &manifest.summary));
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

bool BeatsChance(const v1::EvaluationRow& row, const v1::EvaluationGate& gate) {
  if (row.metric() != gate.metric() || row.count() < 2) return false;
  return MetricOf(row.metric()).better == Better::kLess
             ? row.ci_high() < gate.chance()
             : row.ci_low() > gate.chance();
}

const v1::EvaluationGate* FindGate(const Manifest& manifest,
                                   const std::string& scheme) {
  for (const v1::EvaluationGate& gate : manifest.summary.gates()) {
    if (gate.scheme_name() == scheme) return &gate;
  }
  return nullptr;
}

}  // namespace locus::client
