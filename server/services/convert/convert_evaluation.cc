#include "server/services/convert/convert_evaluation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/shape.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "core/evaluation/retrofit.h"
#include "server/services/convert/scheme_names.h"

namespace locus::server {
namespace {

constexpr int kMaxCheckedSchemes = 64;
constexpr int kMaxEvaluatedSchemes = 32;
constexpr size_t kMaxCorpusBytes = 4 << 20;
// More layers than any trained model has.
constexpr int64_t kMaxPeriod = 64;
// Upper bound of the memory of a scheme in a plan, without its tables.
constexpr int64_t kSchemeBytes = 4096;

absl::Status CheckCount(absl::string_view field, int count, int limit,
                        absl::string_view limit_name) {
  if (count <= limit) return absl::OkStatus();
  return LimitExceeded(
      field, limit_name,
      absl::StrCat("has ", count, " entries; at most ", limit, " are allowed"));
}

// Rejects fields that are meaningful only for the scheme of a trained model.
// `why` is the error message.
absl::Status CheckParametersOnly(const v1::Scheme& scheme,
                                 const std::string& field,
                                 absl::string_view why) {
  if (scheme.has_randomized()) {
    return InvalidField(absl::StrCat(field, ".randomized"), why);
  }
  if (scheme.has_layers()) {
    return InvalidField(absl::StrCat(field, ".layers"), why);
  }
  return absl::OkStatus();
}

absl::Status CheckWindow(int64_t window, const std::string& field) {
  if (window >= 0) return absl::OkStatus();
  return InvalidField(absl::StrCat(field, ".window"),
                      absl::StrCat("is ", window, "; must not be negative"));
}

// Adds a layer with another scheme to the pattern of `scheme`.
absl::Status AddOther(const v1::LayerScheme& given, std::string field,
                      const TrainingSetting& setting, NamedScheme* scheme) {
  LOCUS_RETURN_IF_ERROR(CheckWindow(given.window(), field));
  absl::StrAppend(&field, ".scheme");
  LOCUS_RETURN_IF_ERROR(CheckParametersOnly(
      given.scheme(), field,
      "is set; a scheme within a layer pattern cannot have it"));
  if (!given.scheme().label().empty()) {
    return InvalidField(absl::StrCat(field, ".label"),
                        "is set; the label belongs to the whole model");
  }
  OtherLayer other{.window = given.window()};
  LOCUS_ASSIGN_OR_RETURN(other.resolved,
                         ResolveScheme(given.scheme(), &setting, field));
  absl::StrAppend(&scheme->name, "+", other.resolved.info->name);
  scheme->others.push_back(std::move(other));
  return absl::OkStatus();
}

// Sets the layer pattern of a trained model.
absl::Status AddLayers(const v1::LayerPattern& given, const std::string& field,
                       const TrainingSetting& setting, NamedScheme* scheme) {
  LOCUS_RETURN_IF_ERROR(CheckWindow(given.window(), field));
  scheme->window = given.window();
  const int64_t other_count = std::max(given.others_size(), 1);
  scheme->period = given.has_period() ? given.period() : other_count + 1;
  if (scheme->period <= other_count || scheme->period > kMaxPeriod) {
    return InvalidField(
        absl::StrCat(field, ".period"),
        absl::StrCat("is ", scheme->period, "; must be from ", other_count + 1,
                     ", the count of others plus 1, to ", kMaxPeriod));
  }
  for (int n = 0; n < given.others_size(); ++n) {
    LOCUS_RETURN_IF_ERROR(AddOther(given.others(n),
                                   absl::StrCat(field, ".others[", n, "]"),
                                   setting, scheme));
  }
  if (given.others_size() > 0) return absl::OkStatus();
  v1::LayerScheme none;
  none.mutable_scheme()->mutable_none();
  return AddOther(none, absl::StrCat(field, ".others[0]"), setting, scheme);
}

// A scheme of an evaluation, or of a property check if `setting` is null.
// `longest` is the longest sequence length of the evaluation.
absl::StatusOr<NamedScheme> ToNamedScheme(const v1::Scheme& given,
                                          const TrainingSetting* setting,
                                          int64_t longest,
                                          const std::string& field) {
  NamedScheme scheme;
  scheme.label = given.label();
  if (setting == nullptr) {
    LOCUS_RETURN_IF_ERROR(CheckParametersOnly(
        given, field, "is set; properties are checked for the scheme alone"));
    LOCUS_ASSIGN_OR_RETURN(scheme.resolved,
                           ResolveScheme(given, nullptr, field));
    scheme.name = std::string(scheme.resolved.info->name);
    return scheme;
  }
  TrainingSetting own = *setting;
  if (given.has_randomized()) {
    auto randomization = ToRandomization(given.randomized(), longest);
    if (!randomization.ok()) {
      return Within(absl::StrCat(field, ".randomized"), randomization.status());
    }
    scheme.randomization = *randomization;
    scheme.randomizes_tests = given.randomized().in_tests();
    // Positions in training go up to this maximum.
    own.train_length = std::max(own.train_length, randomization->maximum);
  }
  LOCUS_ASSIGN_OR_RETURN(scheme.resolved, ResolveScheme(given, &own, field));
  scheme.name = std::string(scheme.resolved.info->name);
  if (given.has_layers()) {
    LOCUS_RETURN_IF_ERROR(AddLayers(
        given.layers(), absl::StrCat(field, ".layers"), own, &scheme));
  }
  if (scheme.randomization) absl::StrAppend(&scheme.name, "_randomized");
  return scheme;
}

// The schemes of the request; by default all schemes, or for an evaluation all
// that take part by default.
absl::StatusOr<std::vector<NamedScheme>> ToSchemes(
    const google::protobuf::RepeatedPtrField<v1::Scheme>& given,
    const TrainingSetting* setting, int64_t longest) {
  std::vector<NamedScheme> schemes;
  for (int i = 0; i < given.size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(NamedScheme scheme,
                           ToNamedScheme(given[i], setting, longest,
                                         absl::StrCat("schemes[", i, "]")));
    schemes.push_back(std::move(scheme));
  }
  LOCUS_RETURN_IF_ERROR(NameSchemes(&schemes));
  if (!given.empty()) return schemes;
  for (const SchemeInfo& info : AllSchemes()) {
    if (setting != nullptr && !info.in_default_evaluation) continue;
    LOCUS_ASSIGN_OR_RETURN(ResolvedScheme resolved,
                           ResolveScheme(info, setting));
    schemes.push_back(
        {.name = std::string(info.name), .resolved = std::move(resolved)});
  }
  return schemes;
}

// The default schemes of the retrofit task.
absl::StatusOr<std::vector<NamedScheme>> ToRetrofitSchemes(
    const TrainingSetting& setting, int64_t head_dim) {
  std::vector<NamedScheme> schemes;
  for (RetrofitScheme& scheme :
       RetrofitSchemes(setting.train_length, head_dim)) {
    LOCUS_ASSIGN_OR_RETURN(ResolvedScheme resolved,
                           ResolveScheme(*FindScheme("rope"), &setting,
                                         std::move(scheme.arguments)));
    schemes.push_back(
        {.name = std::move(scheme.name), .resolved = std::move(resolved)});
  }
  return schemes;
}

PatternSettings ToPattern(const v1::PatternMode& given) {
  PatternSettings pattern;
  pattern.dim = given.dim();
  pattern.head_count = given.head_count();
  pattern.causal = given.causal();
  pattern.map_size = given.map_size();
  return pattern;
}

ModelSettings ToModel(const v1::EvaluationModel& given) {
  ModelSettings model;
  model.dim = given.dim();
  model.layer_count = given.layer_count();
  model.head_count = given.head_count();
  model.feed_forward_dim = given.feed_forward_dim();
  if (given.has_causal()) model.causal = given.causal();
  return model;
}

TrainingSettings ToTraining(const v1::EvaluationTraining& given) {
  TrainingSettings training;
  training.step_count = given.step_count();
  training.batch_size = given.batch_size();
  if (given.has_learning_rate()) training.learning_rate = given.learning_rate();
  if (given.has_warmup_step_count()) {
    training.warmup_step_count = given.warmup_step_count();
  }
  if (given.has_weight_decay()) training.weight_decay = given.weight_decay();
  if (given.has_clip_norm()) training.clip_norm = given.clip_norm();
  return training;
}

const std::string& CorpusOf(const v1::TrainedMode& trained) {
  return trained.has_retrofit() ? trained.retrofit().corpus()
                                : trained.text().corpus();
}

// The name of the task is the name of its field.
absl::StatusOr<TrainedSettings> ToTrained(const v1::TrainedMode& given) {
  const auto* field = given.GetReflection()->GetOneofFieldDescriptor(
      given, given.GetDescriptor()->FindOneofByName("task"));
  if (field == nullptr) {
    return InvalidField(
        "trained.ordering",
        "is not set, nor is another task; one of them is needed");
  }
  const std::string& corpus = CorpusOf(given);
  if (corpus.size() > kMaxCorpusBytes) {
    return LimitExceeded(absl::StrCat("trained.", field->name(), ".corpus"),
                         "corpus_bytes",
                         absl::StrCat("has ", corpus.size(), " bytes; at most ",
                                      kMaxCorpusBytes, " are allowed"));
  }
  TrainedSettings trained;
  trained.task = field->name();
  trained.corpus = corpus;
  for (const v1::OrderingSequence& sequence : given.ordering().ask()) {
    trained.questions.emplace_back(sequence.values().begin(),
                                   sequence.values().end());
  }
  trained.model = ToModel(given.model());
  trained.training = ToTraining(given.training());
  return trained;
}

v1::PropertyVerdict ToProtoVerdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return v1::PROPERTY_VERDICT_HOLDS;
    case Verdict::kFails:
      return v1::PROPERTY_VERDICT_FAILS;
    case Verdict::kUndefined:
      return v1::PROPERTY_VERDICT_NOT_APPLICABLE;
  }
  return v1::PROPERTY_VERDICT_UNSPECIFIED;
}

int64_t SchemesBytes(
    const google::protobuf::RepeatedPtrField<v1::Scheme>& schemes) {
  int64_t bytes = 0;
  for (const v1::Scheme& scheme : schemes) {
    bytes += kSchemeBytes * (2 + scheme.layers().others_size()) +
             SchemeBytes(scheme);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<PropertiesPlan> ToPropertiesPlan(
    const v1::CheckPropertiesRequest& request) {
  LOCUS_RETURN_IF_ERROR(CheckCount("schemes", request.schemes_size(),
                                   kMaxCheckedSchemes, "checked_schemes"));
  PropertiesPlan plan;
  LOCUS_ASSIGN_OR_RETURN(plan.schemes,
                         ToSchemes(request.schemes(), nullptr, 0));
  plan.naive =
      request.has_naive() ? request.naive() : request.schemes().empty();
  return plan;
}

absl::StatusOr<EvaluationPlan> ToEvaluationPlan(
    const v1::EvaluateExtrapolationRequest& request) {
  LOCUS_RETURN_IF_ERROR(CheckCount("schemes", request.schemes_size(),
                                   kMaxEvaluatedSchemes, "evaluated_schemes"));
  EvaluationPlan plan;
  EvaluationSettings& settings = plan.settings;
  if (request.has_pattern()) {
    settings.mode = ToPattern(request.pattern());
  } else if (request.has_trained()) {
    LOCUS_ASSIGN_OR_RETURN(settings.mode, ToTrained(request.trained()));
  } else {
    return InvalidField("pattern",
                        "is not set, nor is trained; one of them is needed");
  }
  settings.train_length = request.train_length();
  settings.eval_lengths.assign(request.eval_lengths().begin(),
                               request.eval_lengths().end());
  settings.seed = request.seed();
  settings.seed_count = request.seed_count();
  LOCUS_RETURN_IF_ERROR(FillDefaults(&settings));
  const TrainingSetting setting = TrainingSettingOf(settings);
  const bool retrofit =
      request.trained().has_retrofit() && request.schemes().empty();
  const auto* trained = std::get_if<TrainedSettings>(&settings.mode);
  const int64_t head_dim =
      trained == nullptr ? 0 : trained->model.dim / trained->model.head_count;
  LOCUS_ASSIGN_OR_RETURN(plan.schemes,
                         retrofit ? ToRetrofitSchemes(setting, head_dim)
                                  : ToSchemes(request.schemes(), &setting,
                                              settings.eval_lengths.back()));
  return plan;
}

std::vector<EvaluatedScheme> EvaluationPlan::evaluated_schemes() const {
  std::vector<EvaluatedScheme> evaluated;
  for (const NamedScheme& scheme : schemes) {
    EvaluatedScheme& added = evaluated.emplace_back();
    added.name = scheme.name;
    added.scheme = scheme.resolved.scheme;
    added.randomization = scheme.randomization;
    added.randomizes_tests = scheme.randomizes_tests;
    const int64_t own =
        scheme.period - static_cast<int64_t>(scheme.others.size());
    for (int64_t n = 0; n < own; ++n) {
      added.layers.push_back(
          {.scheme = scheme.resolved.scheme, .window = scheme.window});
    }
    // In errors of core, `scheme` stands for the path of this scheme.
    for (size_t n = 0; n < scheme.others.size(); ++n) {
      const OtherLayer& other = scheme.others[n];
      added.layers.push_back(
          {.scheme = other.resolved.scheme,
           .window = other.window,
           .field = absl::StrCat("scheme.layers.others[", n, "].scheme")});
    }
  }
  return evaluated;
}

int64_t EvaluationPlan::max_cell_bytes() const {
  // A dozen metrics and their names, a training curve and answers.
  constexpr int64_t kPlainCellBytes = 8192;
  const auto* pattern = std::get_if<PatternSettings>(&settings.mode);
  if (pattern == nullptr) return kPlainCellBytes;
  const auto map_bytes =
      CheckedProduct({pattern->head_count, pattern->map_size, pattern->map_size,
                      static_cast<int64_t>(sizeof(double))});
  // StreamBufferBytes() adds up four cells, which must not overflow.
  constexpr int64_t kMaxMapBytes = std::numeric_limits<int64_t>::max() / 8;
  return kPlainCellBytes +
         std::min(map_bytes.value_or(kMaxMapBytes), kMaxMapBytes);
}

int64_t PlanBytes(const v1::CheckPropertiesRequest& request) {
  return SchemesBytes(request.schemes());
}

int64_t PlanBytes(const v1::EvaluateExtrapolationRequest& request) {
  return SchemesBytes(request.schemes()) +
         static_cast<int64_t>(sizeof(int64_t)) * request.eval_lengths_size() +
         static_cast<int64_t>(CorpusOf(request.trained()).size()) +
         static_cast<int64_t>(request.trained().ordering().SpaceUsedLong());
}

void ToProto(const PropertyResult& result, v1::PropertyResult* proto) {
  proto->set_property(result.property);
  proto->set_verdict(ToProtoVerdict(result.verdict));
  proto->set_measured(result.measured);
  proto->set_tolerance(result.tolerance);
  proto->set_promise(ToProto(result.promise));
  proto->set_as_promised(result.as_promised);
  proto->set_worked_case(result.worked_case);
}

}  // namespace locus::server
