// Conversion between protobuf messages and the types of core.
//
// Tensors of requests are not copied: the converted values point into the
// message, which must outlive them. Large tensors of results are not copied
// either; they become zero-copy tensors of the response. Errors are
// INVALID_ARGUMENT and name the field by its path within the request, unless
// stated otherwise.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/attention/attention.h"
#include "core/attention/module.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/encoding/encode.h"
#include "core/encoding/scheme.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"
#include "server/rpc/wire/response.h"

namespace locus::server {

// Creates the scheme that is set in the message. Uses reflection, by field
// name, so that a scheme that is added to core and to the proto needs no code
// here. If `setting` is given, parameters that the message does not set get the
// defaults for training in that setting.
absl::StatusOr<std::unique_ptr<Scheme>> ToScheme(
    const v1::Scheme& scheme, const TrainingSetting* setting = nullptr);

// A scheme, and the arguments that it was made from, including defaults.
struct ResolvedScheme {
  const SchemeInfo* info = nullptr;
  // Valid arguments. Tensors point into the message.
  Arguments arguments;
  std::shared_ptr<const Scheme> scheme;
};

// Same as ToScheme(), for the message at the path `field`, such as
// `schemes[2]`. Ignores the fields `randomized` and `layers`, which the caller
// must handle.
absl::StatusOr<ResolvedScheme> ResolveScheme(const v1::Scheme& scheme,
                                             const TrainingSetting* setting,
                                             absl::string_view field);

// Creates a scheme from arguments instead of a message. Field paths in errors
// begin with the name of the scheme.
absl::StatusOr<ResolvedScheme> ResolveScheme(const SchemeInfo& info,
                                             const TrainingSetting* setting,
                                             Arguments arguments = {});

// `default_maximum` applies if the message sets no maximum. Field paths in
// errors are relative to the message.
absl::StatusOr<Randomization> ToRandomization(
    const v1::RandomizedPositions& given, int64_t default_maximum);

// Upper bound of the memory that a scheme made from the message allocates.
// Tables are converted to double, whatever their data type in the message is.
int64_t SchemeBytes(const v1::Scheme& scheme);

// Field paths in errors are relative to the tensor or the positions: `dtype`,
// `range.count`.
absl::StatusOr<TensorView> ToTensorView(const v1::Tensor& tensor);
absl::StatusOr<Positions> ToPositions(const v1::Positions& positions);

absl::StatusOr<EncodeOptions> ToEncodeOptions(const v1::EncodeRequest& request);
absl::StatusOr<AttentionInputs> ToAttentionInputs(
    const v1::AttentionHeads& heads);
absl::StatusOr<ModuleInputs> ToModuleInputs(const v1::AttentionModule& module);
absl::StatusOr<AttentionOptions> ToAttentionOptions(
    const v1::AttentionOptions& given);

// Core to proto. ToResponse() moves large tensors into the response.
v1::PromiseAnswer ToProto(Promise::Answer answer);
void ToProto(const Tensor& tensor, v1::Tensor* proto);
void ToResponse(Encoding encoding, Response<v1::EncodeResponse>* out);
void ToResponse(AttentionOutputs outputs, Response<v1::AttendResponse>* out);
void ToProto(const SchemeInfo& info, v1::SchemeDescription* description);

}  // namespace locus::server
