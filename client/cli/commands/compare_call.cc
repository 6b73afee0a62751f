#include "client/cli/commands/compare_call.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/explain_call.h"
#include "client/cli/render/comparison_names.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_text.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

// Largest width of a layer with random weights.
constexpr int64_t kMaxLayerDim = 4096;
// Target length relative to the longest trained length, if neither a flag nor a
// scheme gives one.
constexpr double kDefaultExtension = 4;

// A scheme with its request and the response for the first position.
struct Candidate {
  const HfModel* model;
  v1::EncodeRequest request;
  v1::EncodeResponse response;
};

bool IsCausalOnly(const v1::ListSchemesResponse& described,
                  const v1::Scheme& scheme) {
  const std::string name = SchemeName(scheme);
  return std::any_of(described.schemes().begin(), described.schemes().end(),
                     [&](const v1::SchemeDescription& description) {
                       return description.name() == name &&
                              description.causal_only();
                     });
}

// Makes a bias act on keys on both sides of the query, which attention that is
// not causal needs.
void MakeSymmetric(v1::Scheme& scheme) {
  const auto& reflection = *v1::Scheme::GetReflection();
  const auto* kind = reflection.GetOneofFieldDescriptor(
      scheme, v1::Scheme::descriptor()->FindOneofByName("kind"));
  if (kind == nullptr) return;
  for (const char* name : {"symmetric", "bidirectional"}) {
    const auto* field = kind->message_type()->FindFieldByName(name);
    if (field == nullptr) continue;
    google::protobuf::Message* message =
        reflection.MutableMessage(&scheme, kind);
    message->GetReflection()->SetBool(message, field, true);
  }
}

// Gives rotations without a layout that of the first configuration. The layers
// of the comparison have random weights, so that another layout alone would
// change the attention. Returns the name of that configuration, or an empty
// string.
std::string ShareLayout(std::vector<HfModel>& models) {
  const auto has_layout = [](const HfModel& model) {
    return !model.file_name.empty() &&
           model.scheme.rope().layout() != v1::ROPE_LAYOUT_UNSPECIFIED;
  };
  const auto source = std::find_if(models.begin(), models.end(), has_layout);
  if (source == models.end()) return "";
  const v1::RopeLayout layout = source->scheme.rope().layout();
  for (HfModel& model : models) {
    v1::Scheme& scheme = model.scheme;
    if (scheme.has_rope() &&
        scheme.rope().layout() == v1::ROPE_LAYOUT_UNSPECIFIED) {
      scheme.mutable_rope()->set_layout(layout);
    } else if (scheme.has_xpos() &&
               scheme.xpos().layout() == v1::ROPE_LAYOUT_UNSPECIFIED) {
      scheme.mutable_xpos()->set_layout(layout);
    }
  }
  return source->file_name;
}

// The first size that a configuration gives; `fallback` if none does.
int64_t FirstSize(const std::vector<HfModel>& models, int64_t HfModel::*size,
                  int64_t fallback) {
  for (const HfModel& model : models) {
    if (model.*size > 0) return model.*size;
  }
  return fallback;
}

// Requests the first position of every scheme, which determines the sizes and
// lengths that it brings along.
absl::StatusOr<std::vector<Candidate>> RequestCandidates(
    Client& client, const CompareRequest& compare) {
  const SizeDefaults defaults{
      .dim = FirstSize(compare.models, &HfModel::head_dim, kDefaultDim),
      .head_count = FirstSize(compare.models, &HfModel::head_count,
                              kDefaultBiasHeadCount)};
  std::vector<Candidate> candidates;
  for (const HfModel& model : compare.models) {
    Candidate candidate{.model = &model};
    v1::EncodeRequest& request = candidate.request;
    *request.mutable_scheme() = model.scheme;
    request.mutable_positions()->mutable_ids()->add_ids(0);
    request.set_dim(compare.dim > 0 ? compare.dim : model.head_dim);
    request.set_head_count(compare.head_count > 0 ? compare.head_count
                                                  : model.head_count);
    request.set_dtype(v1::DATA_TYPE_FLOAT64);
    if (compare.trained_length > 0) {
      request.set_trained_length(compare.trained_length);
    }
    CLIENT_ASSIGN_OR_RETURN(candidate.response,
                            EncodeAtDefaultSize(client, request, defaults));
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

struct Lengths {
  double trained = 0;
  double target = 0;
};

// The lengths that a scheme brings along; 0 if it has none. --trained replaces
// the lengths of a configuration.
Lengths OwnLengths(const Candidate& candidate, const CompareRequest& compare) {
  const v1::RotationEncoding& rotation = candidate.response.rotation();
  const HfModel& model = *candidate.model;
  if (compare.trained_length > 0) {
    return {static_cast<double>(compare.trained_length),
            rotation.target_length()};
  }
  return {static_cast<double>(model.trained_length > 0
                                  ? model.trained_length
                                  : rotation.original_length()),
          model.target_length > 0 ? static_cast<double>(model.target_length)
                                  : rotation.target_length()};
}

// The lengths at which each scheme is judged.
std::vector<Lengths> JudgedLengths(const std::vector<Candidate>& candidates,
                                   const CompareRequest& compare) {
  std::vector<Lengths> lengths;
  double first_trained = 0;
  double longest_trained = 0;
  double longest_target = 0;
  for (const Candidate& candidate : candidates) {
    const Lengths own = OwnLengths(candidate, compare);
    lengths.push_back(own);
    if (first_trained == 0) first_trained = own.trained;
    longest_trained = std::max(longest_trained, own.trained);
    longest_target = std::max(longest_target, own.target);
  }
  const double target = compare.target_length > 0 ? compare.target_length
                        : longest_target > longest_trained
                            ? longest_target
                            : kDefaultExtension * longest_trained;
  for (Lengths& each : lengths) {
    if (each.trained == 0) each.trained = first_trained;
    each.target = target;
  }
  return lengths;
}

absl::Status AddPairs(Client& client, const Candidate& candidate,
                      const Lengths& lengths, ComparedScheme& scheme) {
  v1::EncodeRequest request = candidate.request;
  scheme.dim = request.dim();
  if (candidate.response.has_additive()) {
    scheme.pairs =
        FactsOf(candidate.response.additive(), lengths.trained, lengths.target);
    scheme.angles = JudgeAngles(*scheme.pairs);
    return absl::OkStatus();
  }
  if (lengths.trained > 0) {
    request.set_trained_length(static_cast<int64_t>(lengths.trained));
    request.set_target_length(lengths.target);
  }
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  scheme.pairs = FactsOf(response.rotation());
  CLIENT_ASSIGN_OR_RETURN(scheme.angles,
                          JudgePairs(client, request, *scheme.pairs));
  // Lists of factors determine the width of a head without a request for one.
  if (scheme.dim == 0) scheme.dim = 2 * scheme.pairs->pair_count();
  return absl::OkStatus();
}

absl::Status AddBias(Client& client, const Candidate& candidate,
                     const Lengths& lengths, int64_t distances,
                     ComparedScheme& scheme) {
  v1::EncodeRequest request = candidate.request;
  request.mutable_positions()->mutable_ids()->set_ids(0, distances - 1);
  request.mutable_key_positions()->mutable_range()->set_count(distances);
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  CLIENT_RETURN_IF_ERROR(CheckTensor(response.bias().bias()));
  CLIENT_ASSIGN_OR_RETURN(scheme.bias, ByDistance(response.bias()));
  CLIENT_ASSIGN_OR_RETURN(scheme.bias_verdict,
                          JudgeBias(client, request, lengths.trained,
                                    std::max(lengths.target, lengths.trained)));
  return absl::OkStatus();
}

absl::StatusOr<ComparedScheme> CompareOne(Client& client,
                                          const Candidate& candidate,
                                          const Lengths& lengths,
                                          int64_t distances) {
  ComparedScheme scheme{.kind = SchemeName(candidate.model->scheme),
                        .text = candidate.model->scheme.ShortDebugString()};
  const v1::EncodeResponse& response = candidate.response;
  if (response.has_rotation() || response.additive().frequencies_size() > 0) {
    CLIENT_RETURN_IF_ERROR(AddPairs(client, candidate, lengths, scheme));
  } else if (response.has_bias()) {
    CLIENT_RETURN_IF_ERROR(
        AddBias(client, candidate, lengths, distances, scheme));
  } else if (response.has_additive()) {
    scheme.dim = candidate.request.dim();
    scheme.table =
        TableFacts{.table_length = response.additive().table_length(),
                   .policy = response.additive().policy(),
                   .trained_length = lengths.trained};
  }
  return scheme;
}

// The layer on which attention is compared.
struct AttentionLayer {
  int64_t head_dim = 0;
  int64_t head_count = 0;
};

// The layer that fits all schemes, or the reason why there is none.
absl::StatusOr<AttentionLayer> CommonLayer(const CompareRequest& compare,
                                           const Comparison& comparison) {
  AttentionLayer layer{.head_count = compare.head_count};
  for (const ComparedScheme& scheme : comparison.schemes) {
    if (scheme.dim > 0 && layer.head_dim > 0 && scheme.dim != layer.head_dim) {
      return absl::FailedPreconditionError(
          absl::StrCat("the schemes have widths of ", layer.head_dim, " and ",
                       scheme.dim, "; set a common one with --dim."));
    }
    if (scheme.dim > 0) layer.head_dim = scheme.dim;
    const auto heads = static_cast<int64_t>(
        scheme.bias ? scheme.bias->heads.size() : size_t{0});
    if (heads > 0 && layer.head_count > 0 && heads != layer.head_count) {
      return absl::FailedPreconditionError(
          absl::StrCat("the schemes have ", layer.head_count, " and ", heads,
                       " heads; set a common number with --heads."));
    }
    if (heads > 0) layer.head_count = heads;
  }
  if (layer.head_dim == 0) {
    layer.head_dim = compare.dim > 0 ? compare.dim : kDefaultDim;
  }
  if (layer.head_count == 0) layer.head_count = 1;
  if (layer.head_count * layer.head_dim > kMaxLayerDim) {
    return absl::FailedPreconditionError(
        absl::StrCat(layer.head_count, " heads of width ", layer.head_dim,
                     " exceed the largest random layer of ", kMaxLayerDim,
                     " channels; set fewer with --heads or --dim."));
  }
  return layer;
}

absl::StatusOr<AttentionWeights> RequestAttention(Client& client,
                                                  const v1::Scheme& scheme,
                                                  const CompareRequest& compare,
                                                  const AttentionLayer& layer,
                                                  bool causal) {
  v1::AttendRequest request;
  *request.mutable_scheme() = scheme;
  v1::AttentionModule& module = *request.mutable_module();
  module.mutable_tokens()->Assign(compare.words.begin(), compare.words.end());
  module.set_head_count(layer.head_count);
  module.set_dim(layer.head_count * layer.head_dim);
  module.set_seed(compare.seed);
  request.mutable_options()->set_causal(causal);
  request.mutable_options()->set_return_weights(true);
  CLIENT_ASSIGN_OR_RETURN(const v1::AttendResponse response,
                          client.Attend(request));
  const v1::Tensor& weights = response.weights();
  CLIENT_RETURN_IF_ERROR(CheckTensor(weights));
  const auto length = static_cast<int64_t>(compare.words.size());
  const std::vector<int64_t> shape(weights.shape().begin(),
                                   weights.shape().end());
  if (shape != std::vector<int64_t>{1, layer.head_count, length, length}) {
    return absl::InternalError(absl::StrCat(
        "the attention sent by the server has shape ", ShapeName(weights)));
  }
  AttentionWeights result{.head_count = layer.head_count, .length = length};
  CLIENT_ASSIGN_OR_RETURN(result.values, ToDoubles(weights));
  return result;
}

absl::Status AddAttention(Client& client, const CompareRequest& compare,
                          Comparison& comparison) {
  const absl::StatusOr<AttentionLayer> layer = CommonLayer(compare, comparison);
  if (!layer.ok()) {
    comparison.attention_note = std::string(layer.status().message());
    return absl::OkStatus();
  }
  for (size_t i = 0; i < comparison.schemes.size(); ++i) {
    CLIENT_ASSIGN_OR_RETURN(
        comparison.schemes[i].attention,
        RequestAttention(client, compare.models[i].scheme, compare, *layer,
                         comparison.causal));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Comparison> CompareSchemes(Client& client,
                                          const CompareRequest& request) {
  CompareRequest compare = request;
  CLIENT_ASSIGN_OR_RETURN(const v1::ListSchemesResponse described,
                          client.ListSchemes({}));
  Comparison comparison{.words = compare.words, .seed = compare.seed};
  comparison.causal = compare.causal;
  std::vector<NamedSource> sources;
  for (const HfModel& model : compare.models) {
    if (!comparison.causal && IsCausalOnly(described, model.scheme)) {
      comparison.causal = true;
      comparison.causal_kind = SchemeName(model.scheme);
    }
    sources.push_back({&model.scheme, model.file_name});
  }
  const std::vector<std::string> names = ComparisonNames(sources, described);
  const std::string layout_source = ShareLayout(compare.models);
  if (!layout_source.empty()) {
    comparison.layout_note =
        absl::StrCat("Rotations without a layout of their own take that of ",
                     layout_source, ".");
  }
  if (!comparison.causal) {
    for (HfModel& model : compare.models) MakeSymmetric(model.scheme);
  }
  CLIENT_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates,
                          RequestCandidates(client, compare));
  const std::vector<Lengths> lengths = JudgedLengths(candidates, compare);
  comparison.target_length = lengths.front().target;
  for (size_t i = 0; i < candidates.size(); ++i) {
    CLIENT_ASSIGN_OR_RETURN(
        ComparedScheme scheme,
        CompareOne(client, candidates[i], lengths[i], compare.length));
    scheme.name = names[i];
    scheme.size_note = SizesNote(
        compare.models[i],
        compare.dim == 0 && scheme.dim > 0 ? compare.models[i].head_dim : 0,
        compare.head_count == 0 && scheme.bias ? compare.models[i].head_count
                                               : 0);
    comparison.schemes.push_back(std::move(scheme));
  }
  CLIENT_RETURN_IF_ERROR(AddAttention(client, compare, comparison));
  return comparison;
}

}  // namespace locus::client
