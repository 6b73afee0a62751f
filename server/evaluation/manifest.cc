#include "server/evaluation/manifest.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/base/dtype.h"
#include "core/simd/gemm.h"
#include "server/base/version.h"

namespace locus::server {
namespace {

// Writes keys in the order of insertion.
using Json = nlohmann::ordered_json;

#if defined(__clang__)
constexpr char kCompiler[] = "clang " __clang_version__;
#else
constexpr char kCompiler[] = "gcc " __VERSION__;
#endif
#if defined(__x86_64__)
constexpr char kArchitecture[] = "x86_64";
#elif defined(__aarch64__)
constexpr char kArchitecture[] = "aarch64";
#else
constexpr char kArchitecture[] = "other";
#endif

Json Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json Numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(Number(value));
  return list;
}

// The 64-bit FNV-1a hash, as 16 hexadecimal digits.
std::string Fingerprint(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

Json Describe(const TensorView& tensor) {
  const absl::string_view bytes(tensor.data,
                                tensor.element_count() * SizeOf(tensor.dtype));
  return {
      {"dtype", std::string(NameOf(tensor.dtype))},
      {"shape", std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end())},
      {"fnv1a", Fingerprint(bytes)}};
}

Json Value(const Parameter& parameter, const Arguments& arguments) {
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      return Number(arguments.Number(parameter.name));
    case ParameterKind::kInteger:
      return arguments.Integer(parameter.name);
    case ParameterKind::kFlag:
      return arguments.Flag(parameter.name);
    case ParameterKind::kChoice:
      return arguments.Choice(parameter.name);
    case ParameterKind::kNumbers:
      return Numbers(arguments.Numbers(parameter.name));
    case ParameterKind::kTensor:
      return Describe(arguments.Tensor(parameter.name));
    case ParameterKind::kSeed:
      return arguments.Seed(parameter.name);
    case ParameterKind::kGroup:
      return Json::object();
  }
  return nullptr;
}

Json Parameters(const ResolvedScheme& resolved) {
  const SchemeInfo& info = *resolved.info;
  const Arguments& arguments = resolved.arguments;
  Json parameters = Json::object();
  for (const Parameter& parameter : info.parameters) {
    if (!arguments.Has(parameter.name)) continue;
    // The parameter `yarn.factor` becomes the key `factor` of an object `yarn`.
    const std::string place =
        absl::StrCat("/", absl::StrReplaceAll(parameter.name, {{".", "/"}}));
    parameters[Json::json_pointer(place)] = Value(parameter, arguments);
  }
  return parameters;
}

Json Describe(const OtherLayer& other) {
  return {{"kind", std::string(other.resolved.info->name)},
          {"parameters", Parameters(other.resolved)},
          {"window", other.window}};
}

Json Describe(const NamedScheme& scheme) {
  Json json = {{"name", scheme.name},
               {"kind", std::string(scheme.resolved.info->name)},
               {"parameters", Parameters(scheme.resolved)}};
  if (scheme.period > 0) {
    Json others = Json::array();
    for (const OtherLayer& other : scheme.others) {
      others.push_back(Describe(other));
    }
    json["layers"] = {{"period", scheme.period},
                      {"window", scheme.window},
                      {"others", std::move(others)}};
  }
  if (scheme.randomization) {
    json["randomized"] = {{"maximum", scheme.randomization->maximum},
                          {"seed", scheme.randomization->seed},
                          {"in_tests", scheme.randomizes_tests}};
  }
  return json;
}

Json Describe(const PatternSettings& pattern) {
  return {{"dim", pattern.dim},
          {"head_count", pattern.head_count},
          {"causal", pattern.causal},
          {"map_size", pattern.map_size}};
}

Json Describe(const ModelSettings& model) {
  Json json = {{"dim", model.dim},
               {"layer_count", model.layer_count},
               {"head_count", model.head_count},
               {"feed_forward_dim", model.feed_forward_dim}};
  if (model.causal.has_value()) json["causal"] = *model.causal;
  return json;
}

Json Describe(const TrainingSettings& training) {
  Json json = {{"step_count", training.step_count},
               {"batch_size", training.batch_size}};
  const auto add = [&](const char* name, std::optional<double> value) {
    if (value.has_value()) json[name] = Number(*value);
  };
  add("learning_rate", training.learning_rate);
  if (training.warmup_step_count.has_value()) {
    json["warmup_step_count"] = *training.warmup_step_count;
  }
  add("weight_decay", training.weight_decay);
  add("clip_norm", training.clip_norm);
  return json;
}

Json Describe(const TrainedSettings& trained) {
  Json json = {{"task", trained.task}};
  if (!trained.corpus.empty()) {
    json["corpus"] = {{"bytes", trained.corpus.size()},
                      {"fnv1a", Fingerprint(trained.corpus)}};
  }
  if (!trained.questions.empty()) json["ask"] = trained.questions;
  json["model"] = Describe(trained.model);
  json["training"] = Describe(trained.training);
  return json;
}

Json Configuration(const EvaluationPlan& plan) {
  const EvaluationSettings& settings = plan.settings;
  Json json;
  if (const auto* pattern = std::get_if<PatternSettings>(&settings.mode)) {
    json["pattern"] = Describe(*pattern);
  } else {
    json["trained"] = Describe(std::get<TrainedSettings>(settings.mode));
  }
  json["train_length"] = settings.train_length;
  json["eval_lengths"] = settings.eval_lengths;
  json["seed"] = settings.seed;
  json["seed_count"] = settings.seed_count;
  json["schemes"] = Json::array();
  for (const NamedScheme& scheme : plan.schemes) {
    json["schemes"].push_back(Describe(scheme));
  }
  return json;
}

// Adds the keys that rows and differences have in common.
template <typename Row>
void AddFigures(const Row& row, Json* json) {
  (*json)["eval_length"] = row.eval_length;
  (*json)["metric"] = row.metric;
  (*json)["mean"] = Number(row.mean);
  (*json)["ci_low"] = Number(row.ci_low);
  (*json)["ci_high"] = Number(row.ci_high);
  (*json)["count"] = row.count;
}

Json Results(const EvaluationSummary& summary) {
  Json rows = Json::array();
  for (const EvaluationRow& row : summary.rows) {
    Json json = {{"scheme_name", row.scheme_name}};
    AddFigures(row, &json);
    rows.push_back(std::move(json));
  }
  Json differences = Json::array();
  for (const EvaluationDifference& difference : summary.differences) {
    Json json = {{"scheme_name", difference.scheme_name},
                 {"baseline_name", difference.baseline_name}};
    AddFigures(difference, &json);
    differences.push_back(std::move(json));
  }
  Json gates = Json::array();
  for (const EvaluationGate& gate : summary.gates) {
    gates.push_back({{"scheme_name", gate.scheme_name},
                     {"metric", gate.metric},
                     {"threshold", Number(gate.threshold)},
                     {"learned_share", Number(gate.learned_share)},
                     {"passed", gate.passed},
                     {"chance", Number(gate.chance)}});
  }
  return {{"rows", std::move(rows)},
          {"differences", std::move(differences)},
          {"gates", std::move(gates)}};
}

// The name of a kind of verdict: `no_clear_winner`.
std::string KindName(VerdictKind kind) {
  std::string name = v1::VerdictKind_Name(ToProto(kind));
  return absl::AsciiStrToLower(
      absl::StripPrefix(absl::string_view(name), "VERDICT_KIND_"));
}

Json Describe(const EvaluationVerdict& verdict) {
  return {{"winner", verdict.winner},
          {"kind", KindName(verdict.kind)},
          {"text", verdict.text},
          {"next_step", verdict.next_step}};
}

Json EffectiveLengths(const EvaluationSummary& summary) {
  Json list = Json::array();
  for (const EffectiveLength& effective : summary.effective_lengths) {
    list.push_back({{"scheme", effective.scheme_name},
                    {"metric", effective.metric},
                    {"length", effective.length},
                    {"ci_low", effective.ci_low},
                    {"ci_high", effective.ci_high},
                    {"threshold", Number(effective.threshold)}});
  }
  return list;
}

Json Spreads(const EvaluationSummary& summary) {
  Json list = Json::array();
  for (const EvaluationSpread& spread : summary.spreads) {
    list.push_back(
        {{"scheme", spread.scheme_name},
         {"eval_length", spread.eval_length},
         {"metric", spread.metric},
         {"min", Number(spread.min)},
         {"q25", Number(spread.q25)},
         {"median", Number(spread.median)},
         {"q75", Number(spread.q75)},
         {"max", Number(spread.max)},
         {"share_above_95",
          spread.share_above_95 ? Json(*spread.share_above_95) : Json(nullptr)},
         {"worst_seed", spread.worst_seed}});
  }
  return list;
}

Json TrainingCurves(const EvaluationSummary& summary) {
  Json list = Json::array();
  for (const TrainingCurve& curve : summary.training_curves) {
    list.push_back({{"scheme", curve.scheme_name},
                    {"seed", curve.seed},
                    {"steps", curve.steps},
                    {"losses", Numbers(curve.losses)}});
  }
  return list;
}

Json OrderingAnswers(const EvaluationSummary& summary) {
  Json list = Json::array();
  for (const OrderingAnswer& answer : summary.ordering_answers) {
    list.push_back({{"scheme", answer.scheme_name},
                    {"values", answer.values},
                    {"probability", Number(answer.probability)},
                    {"ci_low", Number(answer.ci_low)},
                    {"ci_high", Number(answer.ci_high)},
                    {"count", answer.count}});
  }
  return list;
}

std::string ExperimentOf(const EvaluationSettings& settings) {
  const auto* trained = std::get_if<TrainedSettings>(&settings.mode);
  return trained == nullptr ? "pattern" : trained->task;
}

Json OwnVersions() {
  return {{"locus", std::string(Version())},
          {"compiler", kCompiler},
          {"architecture", kArchitecture},
          {"instruction_set", InstructionSet()}};
}

// The distinct `versions` of some manifests.
std::vector<Json> VersionsIn(const std::vector<std::string>& manifests) {
  std::vector<Json> versions;
  for (const std::string& text : manifests) {
    const Json manifest =
        Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!manifest.is_object() || !manifest.contains("versions")) continue;
    const Json& found = manifest["versions"];
    if (absl::c_find(versions, found) == versions.end()) {
      versions.push_back(found);
    }
  }
  return versions;
}

// Requires at least one entry in `versions`.
std::string Write(const EvaluationPlan& plan, const EvaluationSummary& summary,
                  absl::Time now, const std::vector<Json>& versions) {
  const EvaluationSettings& settings = plan.settings;
  Json seeds = Json::array();
  for (int64_t i = 0; i < settings.seed_count; ++i) {
    seeds.push_back(settings.seed + static_cast<uint64_t>(i));
  }
  Json manifest = {
      {"experiment", ExperimentOf(settings)},
      {"date", absl::FormatTime("%Y-%m-%d", now, absl::UTCTimeZone())},
      {"seeds", std::move(seeds)},
      {"versions", versions.front()}};
  if (versions.size() > 1) {
    manifest["other_versions"] =
        std::vector<Json>(versions.begin() + 1, versions.end());
  }
  manifest["configuration"] = Configuration(plan);
  manifest["results"] = Results(summary);
  manifest["verdict"] = Describe(summary.verdict);
  manifest["winner"] = summary.verdict.winner;
  manifest["reason"] = summary.verdict.Reason();
  manifest["partial"] = summary.partial;
  manifest["effective_lengths"] = EffectiveLengths(summary);
  manifest["spreads"] = Spreads(summary);
  manifest["training_curves"] = TrainingCurves(summary);
  if (!summary.ordering_answers.empty()) {
    manifest["ordering_answers"] = OrderingAnswers(summary);
  }
  // By default, dump() throws if a text is not valid UTF-8.
  return manifest.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string MakeManifest(const EvaluationPlan& plan,
                         const EvaluationSummary& summary, absl::Time now) {
  return Write(plan, summary, now, {OwnVersions()});
}

std::string MakeManifest(const EvaluationPlan& plan,
                         const EvaluationSummary& summary, absl::Time now,
                         const std::vector<std::string>& part_manifests) {
  std::vector<Json> versions = VersionsIn(part_manifests);
  if (versions.empty()) versions.push_back(OwnVersions());
  return Write(plan, summary, now, versions);
}

}  // namespace locus::server
