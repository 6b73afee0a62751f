// Proto to core and back, in one place.
//
// Requests are read without copying tensors: what is made here points into the
// message, which has to live as long. Results become attachments of the reply,
// small ones excepted. Field paths in errors are those of the request.
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

// The scheme that is set. Goes by the names of fields, so that a scheme new to
// core and contract needs nothing here. With a setting, what the message leaves
// open is chosen to suit it.
absl::StatusOr<std::unique_ptr<Scheme>> ToScheme(
    const v1::Scheme& scheme, const TrainingSetting* setting = nullptr);

// A scheme beside what it was made from, choices and defaults included.
struct ResolvedScheme {
  const SchemeInfo* info = nullptr;
  // Checked. Tensors are the message's.
  Arguments arguments;
  std::shared_ptr<const Scheme> scheme;
};

// The scheme that is set in a message at `field`, such as `schemes[2]`; what
// the message says of positions and layers is left to the caller.
absl::StatusOr<ResolvedScheme> ResolveScheme(const v1::Scheme& scheme,
                                             const TrainingSetting* setting,
                                             absl::string_view field);

// A scheme of which nothing was said, or what the arguments say.
absl::StatusOr<ResolvedScheme> ResolveScheme(const SchemeInfo& info,
                                             const TrainingSetting* setting,
                                             Arguments arguments = {});

// Errors are relative to the message.
absl::StatusOr<Randomization> ToRandomization(
    const v1::RandomizedPositions& given, int64_t default_maximum);

// A bound on what these allocate: tables become doubles, whatever they are sent
// as.
int64_t SchemeBytes(const v1::Scheme& scheme);

// Errors are relative to the tensor or positions: `dtype`, `range.count`.
absl::StatusOr<TensorView> ToTensorView(const v1::Tensor& tensor);
absl::StatusOr<Positions> ToPositions(const v1::Positions& positions);

absl::StatusOr<EncodeOptions> ToEncodeOptions(const v1::EncodeRequest& request);
absl::StatusOr<AttentionInputs> ToAttentionInputs(
    const v1::AttentionHeads& heads);
absl::StatusOr<ModuleInputs> ToModuleInputs(const v1::AttentionModule& module);
absl::StatusOr<AttentionOptions> ToAttentionOptions(
    const v1::AttentionOptions& given);

v1::PromiseAnswer ToProto(Promise::Answer answer);
void ToProto(const Tensor& tensor, v1::Tensor* proto);
void ToReply(Encoding encoding, Reply<v1::EncodeResponse>* reply);
void ToReply(AttentionOutputs outputs, Reply<v1::AttendResponse>* reply);
void ToProto(const SchemeInfo& info, v1::SchemeDescription* description);

}  // namespace locus::server
