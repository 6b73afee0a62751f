#include "client/cli/requests/scheme_sizes.h"

#include <memory>

#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_text.h"
#include "core/encoding/registry.h"
#include "server/services/convert/convert.h"

namespace locus::client {
namespace {

using ::google::protobuf::FieldDescriptor;

bool ActsOn(const v1::Scheme& scheme, Site site) {
  const SchemeInfo* info = FindScheme(SchemeName(scheme));
  return info != nullptr && info->site == site;
}

}  // namespace

bool ActsOnScores(const v1::Scheme& scheme) {
  return ActsOn(scheme, Site::kScores);
}

bool ActsOnEmbeddings(const v1::Scheme& scheme) {
  return ActsOn(scheme, Site::kEmbeddings);
}

CallSizes SizesForEncoding(const HfModel& model,
                           std::optional<int64_t> dim_flag,
                           std::optional<int64_t> head_count_flag) {
  // The server reports errors in the scheme, with its field paths.
  const auto scheme = server::ToScheme(model.scheme);
  const int64_t own_dim = scheme.ok() ? (*scheme)->dim() : 0;
  const int64_t own_head_count = scheme.ok() ? (*scheme)->head_count() : 0;
  CallSizes sizes;
  if (ActsOnScores(model.scheme)) {
    const bool from_file = model.head_count > 0 && own_head_count == 0;
    const int64_t fallback = from_file             ? model.head_count
                             : own_head_count == 0 ? kDefaultBiasHeads
                                                   : 0;
    sizes.head_count = head_count_flag.value_or(fallback);
    if (from_file && !head_count_flag.has_value()) {
      sizes.note = SizesNote(model, 0, sizes.head_count);
    }
    return sizes;
  }
  const int64_t file_dim =
      ActsOnEmbeddings(model.scheme) ? model.embedding_dim : model.head_dim;
  const bool from_file = file_dim > 0 && own_dim == 0;
  const int64_t fallback = from_file      ? file_dim
                           : own_dim == 0 ? kDefaultDim
                                          : 0;
  sizes.dim = dim_flag.value_or(fallback);
  if (from_file && !dim_flag.has_value()) {
    sizes.note = SizesNote(model, sizes.dim, 0);
  }
  return sizes;
}

CallSizes SizesForLayer(const HfModel& model,
                        std::optional<int64_t> head_count_flag) {
  CallSizes sizes;
  if (model.head_dim <= 0 || model.head_count <= 0) return sizes;
  sizes.head_count = head_count_flag.value_or(model.head_count);
  sizes.dim = model.head_dim * sizes.head_count;
  sizes.note = SizesNote(model, model.head_dim,
                         head_count_flag.has_value() ? 0 : model.head_count);
  return sizes;
}

const FieldDescriptor* TwoSidedParameter(const v1::Scheme& scheme) {
  const SchemeInfo* info = FindScheme(SchemeName(scheme));
  if (info == nullptr || info->apply_training_defaults == nullptr) {
    return nullptr;
  }
  // Evaluations set the parameter for models that are not causal.
  Arguments causal;
  Arguments two_sided;
  info->apply_training_defaults({.train_length = 1, .causal = true}, &causal);
  info->apply_training_defaults({.train_length = 1, .causal = false},
                                &two_sided);
  for (const Parameter& parameter : info->parameters) {
    if (parameter.kind == ParameterKind::kFlag &&
        two_sided.Has(parameter.name) && !causal.Has(parameter.name)) {
      return v1::Scheme::descriptor()
          ->FindFieldByName(SchemeName(scheme))
          ->message_type()
          ->FindFieldByName(parameter.name);
    }
  }
  return nullptr;
}

void MakeTwoSided(const std::set<const FieldDescriptor*>& given,
                  v1::Scheme* scheme) {
  const FieldDescriptor* parameter = TwoSidedParameter(*scheme);
  if (parameter == nullptr || given.count(parameter) > 0) return;
  google::protobuf::Message* kind = v1::Scheme::GetReflection()->MutableMessage(
      scheme, v1::Scheme::descriptor()->FindFieldByName(SchemeName(*scheme)));
  kind->GetReflection()->SetBool(kind, parameter, true);
}

}  // namespace locus::client
