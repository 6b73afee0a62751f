#include "client/cli/requests/load_request.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/requests/scheme_text.h"
#include "client/cli/support/cli_errors.h"
#include "client/load/units.h"
#include "core/base/suggest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr char kListSchemes[] = "list-schemes";
constexpr char kEncode[] = "encode";
constexpr char kAttend[] = "attend";
constexpr char kCheckProperties[] = "check-properties";
constexpr char kHealth[] = "health";

FlagHints Hints() {
  return {{"scheme", "--scheme"},     {"schemes", "--scheme"},
          {"positions", "--length"},  {"dim", "--dim"},
          {"head_count", "--heads"},  {"dtype", "--dtype"},
          {"heads", "--dim, --heads"}};
}

absl::Status CheckFlags(const LoadRequestFlags& flags) {
  const std::vector<std::string> names = LoadRpcs();
  if (std::find(names.begin(), names.end(), flags.rpc) == names.end()) {
    return UsageError(absl::StrCat("there is no call \"", flags.rpc, "\"",
                                   DidYouMean(flags.rpc, names), "; one of ",
                                   absl::StrJoin(names, ", ")));
  }
  const bool sized = flags.dim.has_value() || flags.length.has_value() ||
                     flags.head_count.has_value() || !flags.payload.empty();
  if (sized && flags.rpc != kEncode && flags.rpc != kAttend) {
    return UsageError(
        "--dim, --length, --heads and --payload need encode or attend");
  }
  if (flags.causal && flags.rpc != kAttend) {
    return UsageError("--causal needs attend");
  }
  if (!flags.scheme.empty() &&
      (flags.rpc == kListSchemes || flags.rpc == kHealth)) {
    return UsageError(
        absl::StrCat("--scheme: ", flags.rpc, " takes no scheme"));
  }
  if (flags.length.has_value() && !flags.payload.empty()) {
    return UsageError("--length and --payload both set the size; give one");
  }
  for (const auto& [name, value] :
       {std::pair{"--dim", flags.dim}, std::pair{"--length", flags.length},
        std::pair{"--heads", flags.head_count}}) {
    if (value.value_or(1) < 1) {
      return UsageError(
          absl::StrCat(name, ": is ", *value, "; must be at least 1"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Scheme> Scheme(const LoadRequestFlags& flags) {
  absl::StatusOr<v1::Scheme> scheme =
      ParseScheme(flags.scheme.empty() ? "rope" : flags.scheme);
  if (!scheme.ok()) return AsUsage(scheme.status(), "--scheme");
  return scheme;
}

// A tensor of pseudorandom numbers between -1 and 1, the same in every run.
absl::StatusOr<v1::Tensor> RandomTensor(const std::string& type,
                                        absl::Span<const int64_t> shape) {
  const absl::StatusOr<v1::DataType> dtype = ParseDataType(type);
  if (!dtype.ok()) return AsUsage(dtype.status(), "--dtype");
  const absl::StatusOr<int64_t> count = ElementCount(shape, *dtype);
  if (!count.ok()) return AsUsage(count.status());
  std::mt19937_64 random(1);
  std::vector<double> values(*count);
  for (double& value : values) {
    value = static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63;
  }
  auto tensor = MakeTensorOf(*dtype, shape, values);
  if (!tensor.ok()) return AsUsage(tensor.status(), "--dtype");
  return tensor;
}

// The number of rows of a request: as many rows of `row_elements` elements as
// --payload needs, or else --length, or else `default_length`.
absl::StatusOr<int64_t> Length(const LoadRequestFlags& flags,
                               int64_t row_elements, int64_t default_length) {
  if (flags.payload.empty()) return flags.length.value_or(default_length);
  const auto bytes = load::ParseBytes(flags.payload);
  if (!bytes.ok()) return AsUsage(bytes.status(), "--payload");
  const auto dtype = ParseDataType(flags.dtype);
  if (!dtype.ok()) return AsUsage(dtype.status(), "--dtype");
  return std::max<int64_t>(1, *bytes / (row_elements * ElementSize(*dtype)));
}

absl::StatusOr<v1::EncodeRequest> Encode(const LoadRequestFlags& flags) {
  v1::EncodeRequest request;
  CLIENT_ASSIGN_OR_RETURN(*request.mutable_scheme(), Scheme(flags));
  const int64_t dim = flags.dim.value_or(64);
  // With a payload, the scheme is applied to an input tensor. Its axes are
  // interpreted as heads, queries and keys by schemes that act on scores.
  // Without a payload, the small request asks for a table.
  if (!flags.payload.empty()) {
    const int64_t heads = flags.head_count.value_or(1);
    CLIENT_ASSIGN_OR_RETURN(const int64_t rows, Length(flags, heads * dim, 0));
    CLIENT_ASSIGN_OR_RETURN(*request.mutable_input(),
                            RandomTensor(flags.dtype, {heads, rows, dim}));
    return request;
  }
  const auto dtype = ParseDataType(flags.dtype);
  if (!dtype.ok()) return AsUsage(dtype.status(), "--dtype");
  request.mutable_positions()->mutable_range()->set_count(
      flags.length.value_or(16));
  request.set_dim(dim);
  request.set_head_count(flags.head_count.value_or(0));
  request.set_dtype(*dtype);
  return request;
}

absl::StatusOr<v1::AttendRequest> Attend(const LoadRequestFlags& flags) {
  v1::AttendRequest request;
  CLIENT_ASSIGN_OR_RETURN(*request.mutable_scheme(), Scheme(flags));
  const int64_t dim = flags.dim.value_or(64);
  const int64_t head_count = flags.head_count.value_or(4);
  CLIENT_ASSIGN_OR_RETURN(const int64_t length,
                          Length(flags, 3 * head_count * dim, 32));
  CLIENT_ASSIGN_OR_RETURN(
      const v1::Tensor tensor,
      RandomTensor(flags.dtype, {1, head_count, length, dim}));
  v1::AttentionHeads& heads = *request.mutable_heads();
  *heads.mutable_q() = *heads.mutable_k() = *heads.mutable_v() = tensor;
  request.mutable_options()->set_causal(flags.causal);
  return request;
}

absl::StatusOr<v1::CheckPropertiesRequest> Check(
    const LoadRequestFlags& flags) {
  v1::CheckPropertiesRequest request;
  if (!flags.scheme.empty()) {
    CLIENT_ASSIGN_OR_RETURN(*request.add_schemes(), Scheme(flags));
  }
  return request;
}

absl::Status Call(const v1::ListSchemesRequest& request, Client& client) {
  return client.ListSchemes(request).status();
}
absl::Status Call(const v1::EncodeRequest& request, Client& client) {
  return client.Encode(request).status();
}
absl::Status Call(const v1::AttendRequest& request, Client& client) {
  return client.Attend(request).status();
}
absl::Status Call(const v1::CheckPropertiesRequest& request, Client& client) {
  return client.CheckProperties(request).status();
}
absl::Status Call(const grpc::health::v1::HealthCheckRequest& request,
                  Client& client) {
  return client.CheckHealth(request.service()).status();
}

}  // namespace

std::vector<std::string> LoadRpcs() {
  return {kListSchemes, kEncode, kAttend, kCheckProperties, kHealth};
}

std::string LoadRequest::Serialized() const {
  return std::visit([](const auto& one) { return one.SerializeAsString(); },
                    message);
}

absl::StatusOr<LoadRequest> MakeLoadRequest(const LoadRequestFlags& flags) {
  CLIENT_RETURN_IF_ERROR(CheckFlags(flags));
  LoadRequest request;
  if (flags.rpc == kEncode) {
    request.method = "/locus.v1.EncodingService/Encode";
    CLIENT_ASSIGN_OR_RETURN(request.message, Encode(flags));
  } else if (flags.rpc == kAttend) {
    request.method = "/locus.v1.AttentionService/Attend";
    CLIENT_ASSIGN_OR_RETURN(request.message, Attend(flags));
  } else if (flags.rpc == kCheckProperties) {
    request.method = "/locus.v1.EvaluationService/CheckProperties";
    CLIENT_ASSIGN_OR_RETURN(request.message, Check(flags));
  } else if (flags.rpc == kHealth) {
    request.method = "/grpc.health.v1.Health/Check";
    request.message = grpc::health::v1::HealthCheckRequest();
  } else {
    request.method = "/locus.v1.EncodingService/ListSchemes";
    request.message = v1::ListSchemesRequest();
  }
  return request;
}

absl::Status TryLoadRequest(const LoadRequest& request, Client& client) {
  return WithFlagHint(
      std::visit([&client](const auto& one) { return Call(one, client); },
                 request.message),
      Hints());
}

}  // namespace locus::client
