#include "server/services/convert/convert.h"

#include <numbers>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus::server {
namespace {

// Smaller tensors are copied into the message, which costs less than a separate
// slice.
constexpr int64_t kMinZeroCopyBytes = 4096;

std::optional<DType> ToDType(v1::DataType dtype) {
  switch (dtype) {
    case v1::DATA_TYPE_FLOAT32:
      return DType::kFloat32;
    case v1::DATA_TYPE_FLOAT64:
      return DType::kFloat64;
    case v1::DATA_TYPE_FLOAT16:
      return DType::kFloat16;
    case v1::DATA_TYPE_BFLOAT16:
      return DType::kBFloat16;
    case v1::DATA_TYPE_INT64:
      return DType::kInt64;
    case v1::DATA_TYPE_BOOL:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

v1::DataType ToProtoDType(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return v1::DATA_TYPE_FLOAT32;
    case DType::kFloat64:
      return v1::DATA_TYPE_FLOAT64;
    case DType::kFloat16:
      return v1::DATA_TYPE_FLOAT16;
    case DType::kBFloat16:
      return v1::DATA_TYPE_BFLOAT16;
    case DType::kInt64:
      return v1::DATA_TYPE_INT64;
    case DType::kBool:
      return v1::DATA_TYPE_BOOL;
  }
  return v1::DATA_TYPE_UNSPECIFIED;
}

// Converts a required tensor. Fails if it is not set.
absl::Status ConvertRequired(bool is_set, const v1::Tensor& tensor,
                             absl::string_view field, TensorView* view) {
  if (!is_set) return InvalidField(field, "is not set; a tensor is needed");
  auto converted = ToTensorView(tensor);
  if (!converted.ok()) return Within(field, converted.status());
  *view = *std::move(converted);
  return absl::OkStatus();
}

// Converts an optional tensor or optional positions. Leaves `core` unchanged if
// they are not set.
template <typename Proto, typename Core>
absl::Status ConvertOptional(bool is_set, const Proto& proto,
                             absl::StatusOr<Core> (*convert)(const Proto&),
                             absl::string_view field,
                             std::optional<Core>* core) {
  if (!is_set) return absl::OkStatus();
  auto converted = convert(proto);
  if (!converted.ok()) return Within(field, converted.status());
  *core = *std::move(converted);
  return absl::OkStatus();
}

v1::SchemeSite ToProtoSite(Site site) {
  switch (site) {
    case Site::kNone:
      return v1::SCHEME_SITE_NOWHERE;
    case Site::kEmbeddings:
      return v1::SCHEME_SITE_EMBEDDINGS;
    case Site::kQueriesAndKeys:
      return v1::SCHEME_SITE_QUERIES_AND_KEYS;
    case Site::kScores:
      return v1::SCHEME_SITE_SCORES;
  }
  return v1::SCHEME_SITE_UNSPECIFIED;
}

void SetType(const Tensor& tensor, v1::Tensor* proto) {
  proto->set_dtype(ToProtoDType(tensor.dtype()));
  proto->mutable_shape()->Assign(tensor.shape().begin(), tensor.shape().end());
}

// Sets a tensor of the response, without copying its data unless it is small.
void Attach(Tensor tensor, v1::Tensor* proto, ZeroCopyTensors& tensors) {
  const int64_t bytes = tensor.byte_count();
  if (bytes < kMinZeroCopyBytes) {
    ToProto(tensor, proto);
    return;
  }
  SetType(tensor, proto);
  tensors.Add(proto, tensor.TakeBytes(), bytes);
}

constexpr double kTwoPi = 2 * std::numbers::pi;

// Sets the frequencies and the figures that are derived from them.
void SetDerived(const AdditiveEncoding& additive, v1::AdditiveEncoding* proto) {
  proto->mutable_frequencies()->Assign(additive.frequencies.begin(),
                                       additive.frequencies.end());
  for (const double frequency : additive.frequencies) {
    proto->add_wavelengths(kTwoPi / frequency);
  }
  proto->set_table_length(additive.table_length);
  proto->set_policy(additive.policy);
}

template <typename From, typename To>
void Assign(const From& from, To* to) {
  to->Assign(from.begin(), from.end());
}

// Sets the number of turns that each pair of channels makes within the original
// and the target length. `frequencies` are those at the target length.
void SetTurns(const Rotation::Origin& origin,
              const std::vector<double>& frequencies,
              v1::RotationEncoding* proto) {
  proto->set_original_length(origin.original_length);
  proto->set_target_length(origin.target_length);
  for (size_t k = 0; k < frequencies.size(); ++k) {
    const double turns = static_cast<double>(origin.original_length) *
                         origin.frequencies[k] / kTwoPi;
    proto->add_original_turns(turns);
    proto->add_target_turns(origin.target_length * frequencies[k] / kTwoPi);
    if (frequencies[k] > 0 && turns < 1) {
      proto->add_incomplete_pairs(static_cast<int64_t>(k));
    }
  }
}

// Sets the figures that are derived from the frequencies.
void SetDerived(const RotationEncoding& rotation, v1::RotationEncoding* proto) {
  for (const double frequency : rotation.frequencies) {
    proto->add_wavelengths(kTwoPi / frequency);
  }
  Assign(rotation.decays, proto->mutable_decays());
  const Rotation::Origin& origin = rotation.origin;
  Assign(origin.frequencies, proto->mutable_unscaled_frequencies());
  Assign(origin.ramp, proto->mutable_ramp());
  Assign(origin.target_frequencies, proto->mutable_target_frequencies());
  if (origin.original_length == 0) return;
  SetTurns(origin,
           origin.target_frequencies.empty() ? rotation.frequencies
                                             : origin.target_frequencies,
           proto);
}

void ToProto(const Parameter& parameter, v1::SchemeParameter* proto) {
  proto->set_name(std::string(parameter.name));
  proto->set_type(std::string(parameter.KindName()));
  proto->set_default_value(parameter.Default());
  proto->set_range(parameter.Range());
  proto->set_description(std::string(parameter.description));
  for (const absl::string_view choice : parameter.choices) {
    proto->add_choices(std::string(choice));
  }
}

}  // namespace

absl::StatusOr<TensorView> ToTensorView(const v1::Tensor& tensor) {
  const auto dtype = ToDType(tensor.dtype());
  if (!dtype.has_value()) {
    return InvalidField(
        "dtype",
        absl::StrCat("is ",
                     tensor.dtype() == v1::DATA_TYPE_UNSPECIFIED
                         ? std::string("not set")
                         : absl::StrCat(static_cast<int>(tensor.dtype())),
                     "; must be one of FLOAT32, FLOAT64, FLOAT16, BFLOAT16, "
                     "INT64, BOOL"));
  }
  return MakeTensorView(*dtype,
                        Shape(tensor.shape().begin(), tensor.shape().end()),
                        tensor.data());
}

absl::StatusOr<Positions> ToPositions(const v1::Positions& positions) {
  switch (positions.kind_case()) {
    case v1::Positions::kRange: {
      auto range = Positions::Range(positions.range().start(),
                                    positions.range().count());
      if (!range.ok()) return Within("range", range.status());
      return range;
    }
    case v1::Positions::kIds: {
      const auto& ids = positions.ids().ids();
      auto listed = Positions::Ids({ids.begin(), ids.end()});
      if (!listed.ok()) return Within("ids", listed.status());
      return listed;
    }
    case v1::Positions::KIND_NOT_SET:
      break;
  }
  return InvalidField("range", "is not set, nor is ids; one of them is needed");
}

absl::StatusOr<EncodeOptions> ToEncodeOptions(
    const v1::EncodeRequest& request) {
  EncodeOptions options;
  LOCUS_RETURN_IF_ERROR(ConvertOptional(request.has_positions(),
                                        request.positions(), &ToPositions,
                                        "positions", &options.positions));
  LOCUS_RETURN_IF_ERROR(
      ConvertOptional(request.has_key_positions(), request.key_positions(),
                      &ToPositions, "key_positions", &options.key_positions));
  LOCUS_RETURN_IF_ERROR(ConvertOptional(request.has_input(), request.input(),
                                        &ToTensorView, "input",
                                        &options.input));
  options.dim = request.dim();
  options.head_count = request.head_count();
  if (request.dtype() != v1::DATA_TYPE_UNSPECIFIED) {
    const auto dtype = ToDType(request.dtype());
    if (!dtype.has_value() || !IsFloatingPoint(*dtype)) {
      return InvalidField(
          "dtype", absl::StrCat("is ", static_cast<int>(request.dtype()),
                                "; must be one of FLOAT32, FLOAT64, FLOAT16, "
                                "BFLOAT16"));
    }
    options.dtype = *dtype;
  }
  if (!v1::RotatedSide_IsValid(request.side())) {
    return InvalidField("side",
                        absl::StrCat("is ", static_cast<int>(request.side()),
                                     "; must be one of QUERIES, KEYS"));
  }
  options.of_keys = request.side() == v1::ROTATED_SIDE_KEYS;
  options.sequence_length = request.sequence_length();
  options.trained_length = request.trained_length();
  options.target_length = request.target_length();
  return options;
}

absl::StatusOr<AttentionInputs> ToAttentionInputs(
    const v1::AttentionHeads& heads) {
  AttentionInputs inputs;
  LOCUS_RETURN_IF_ERROR(
      ConvertRequired(heads.has_q(), heads.q(), "heads.q", &inputs.q));
  LOCUS_RETURN_IF_ERROR(
      ConvertRequired(heads.has_k(), heads.k(), "heads.k", &inputs.k));
  LOCUS_RETURN_IF_ERROR(
      ConvertRequired(heads.has_v(), heads.v(), "heads.v", &inputs.v));
  return inputs;
}

absl::StatusOr<ModuleInputs> ToModuleInputs(const v1::AttentionModule& module) {
  if (module.has_x() == !module.tokens().empty()) {
    return InvalidField("module.x",
                        module.has_x()
                            ? "is set, and so is tokens; only one is allowed"
                            : "is not set, nor is tokens; one of them is "
                              "needed");
  }
  ModuleInputs inputs;
  LOCUS_RETURN_IF_ERROR(ConvertOptional(module.has_x(), module.x(),
                                        &ToTensorView, "module.x", &inputs.x));
  inputs.tokens.assign(module.tokens().begin(), module.tokens().end());
  inputs.dim = module.dim();
  inputs.head_count = module.head_count();
  inputs.seed = module.seed();
  if (module.has_weights()) {
    const v1::ModuleWeights& given = module.weights();
    ModuleWeights& weights = inputs.weights.emplace();
    LOCUS_RETURN_IF_ERROR(ConvertRequired(given.has_wq(), given.wq(),
                                          "module.weights.wq", &weights.wq));
    LOCUS_RETURN_IF_ERROR(ConvertRequired(given.has_wk(), given.wk(),
                                          "module.weights.wk", &weights.wk));
    LOCUS_RETURN_IF_ERROR(ConvertRequired(given.has_wv(), given.wv(),
                                          "module.weights.wv", &weights.wv));
    LOCUS_RETURN_IF_ERROR(ConvertRequired(given.has_wo(), given.wo(),
                                          "module.weights.wo", &weights.wo));
  }
  return inputs;
}

absl::StatusOr<AttentionOptions> ToAttentionOptions(
    const v1::AttentionOptions& given) {
  AttentionOptions options;
  options.causal = given.causal();
  if (given.has_query_offset()) options.query_offset = given.query_offset();
  options.bottom_right = given.bottom_right();
  options.window = given.window();
  if (given.has_scale()) options.scale = given.scale();
  options.softcap = given.softcap();
  LOCUS_RETURN_IF_ERROR(ConvertOptional(given.has_mask(), given.mask(),
                                        &ToTensorView, "options.mask",
                                        &options.mask));
  LOCUS_RETURN_IF_ERROR(ConvertOptional(
      given.has_query_positions(), given.query_positions(), &ToPositions,
      "options.query_positions", &options.query_positions));
  LOCUS_RETURN_IF_ERROR(ConvertOptional(
      given.has_key_positions(), given.key_positions(), &ToPositions,
      "options.key_positions", &options.key_positions));
  options.return_weights = given.return_weights();
  options.return_log_sum_exp = given.return_log_sum_exp();
  return options;
}

v1::PromiseAnswer ToProto(Promise::Answer answer) {
  switch (answer) {
    case Promise::Answer::kYes:
      return v1::PROMISE_ANSWER_YES;
    case Promise::Answer::kNo:
      return v1::PROMISE_ANSWER_NO;
    case Promise::Answer::kNotApplicable:
      return v1::PROMISE_ANSWER_NOT_APPLICABLE;
  }
  return v1::PROMISE_ANSWER_UNSPECIFIED;
}

void ToProto(const Tensor& tensor, v1::Tensor* proto) {
  SetType(tensor, proto);
  proto->set_data(tensor.view().data, tensor.byte_count());
}

void ToResponse(Encoding encoding, Response<v1::EncodeResponse>* out) {
  v1::EncodeResponse& response = out->message;
  ZeroCopyTensors& tensors = out->tensors;
  if (auto* additive = std::get_if<AdditiveEncoding>(&encoding.numbers)) {
    v1::AdditiveEncoding* proto = response.mutable_additive();
    Attach(std::move(additive->table), proto->mutable_table(), tensors);
    SetDerived(*additive, proto);
  } else if (auto* rotation =
                 std::get_if<RotationEncoding>(&encoding.numbers)) {
    v1::RotationEncoding* proto = response.mutable_rotation();
    Attach(std::move(rotation->cos), proto->mutable_cos(), tensors);
    Attach(std::move(rotation->sin), proto->mutable_sin(), tensors);
    proto->mutable_frequencies()->Assign(rotation->frequencies.begin(),
                                         rotation->frequencies.end());
    proto->set_attention_factor(rotation->attention_factor);
    SetDerived(*rotation, proto);
  } else if (auto* bias = std::get_if<BiasEncoding>(&encoding.numbers)) {
    v1::BiasEncoding* proto = response.mutable_bias();
    Attach(std::move(bias->bias), proto->mutable_bias(), tensors);
    proto->mutable_slopes()->Assign(bias->slopes.begin(), bias->slopes.end());
    proto->mutable_bucket_edges()->Assign(bias->bucket_edges.begin(),
                                          bias->bucket_edges.end());
    for (const ScoreBias::HeadNumbers& numbers : bias->head_numbers) {
      v1::HeadNumbers* head_numbers = proto->add_head_numbers();
      head_numbers->set_name(std::string(numbers.name));
      Assign(numbers.values, head_numbers->mutable_values());
    }
  }
  if (encoding.output.has_value()) {
    Attach(*std::move(encoding.output), response.mutable_output(), tensors);
  }
}

void ToResponse(AttentionOutputs outputs, Response<v1::AttendResponse>* out) {
  v1::AttendResponse& response = out->message;
  ZeroCopyTensors& tensors = out->tensors;
  Attach(std::move(outputs.output), response.mutable_output(), tensors);
  if (outputs.weights.has_value()) {
    Attach(*std::move(outputs.weights), response.mutable_weights(), tensors);
  }
  if (outputs.log_sum_exp.has_value()) {
    Attach(*std::move(outputs.log_sum_exp), response.mutable_log_sum_exp(),
           tensors);
  }
}

void ToProto(const SchemeInfo& info, v1::SchemeDescription* description) {
  description->set_name(std::string(info.name));
  description->set_title(std::string(info.title));
  description->set_acts_on(ToProtoSite(info.site));
  for (const Parameter& parameter : info.parameters) {
    ToProto(parameter, description->add_parameters());
  }
  for (int i = 0; i < kPropertyCount; ++i) {
    v1::SchemePromise* promise = description->add_promises();
    promise->set_property(std::string(NameOf(static_cast<Property>(i))));
    promise->set_answer(ToProto(info.promises[i].answer));
    promise->set_note(std::string(info.promises[i].note));
  }
  description->set_reference(std::string(info.reference));
  description->set_beyond_training(std::string(info.beyond_training));
  description->set_causal_only(info.is_causal_only);
}

}  // namespace locus::server
