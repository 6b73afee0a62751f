#include "client/cli/commands/explain_call.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/terminal.h"
#include "client/io/file.h"
#include "locus/client/errors.h"
#include "locus/client/tensor.h"

namespace locus::client {

absl::StatusOr<v1::EncodeResponse> EncodeAtDefaultSize(
    Client& client, v1::EncodeRequest& request, const SizeDefaults& defaults) {
  while (true) {
    absl::StatusOr<v1::EncodeResponse> response = client.Encode(request);
    const std::vector<FieldViolation> violations =
        FieldViolations(response.status());
    const auto lacks = [&violations](absl::string_view field) {
      return !violations.empty() && violations.front().field == field;
    };
    if (lacks("dim") && request.dim() == 0) {
      request.set_dim(defaults.dim);
    } else if (lacks("head_count") && request.head_count() == 0) {
      request.set_head_count(defaults.head_count);
    } else {
      return response;
    }
  }
}

absl::StatusOr<AngleVerdict> JudgePairs(Client& client,
                                        const v1::EncodeRequest& request,
                                        const RotationFacts& facts) {
  AngleVerdict verdict = JudgeAngles(facts);
  if (!verdict.is_known() || !facts.has_scaling()) return verdict;
  v1::EncodeRequest probe = request;
  probe.set_trained_length(static_cast<int64_t>(facts.trained_length));
  const auto encode_at =
      [&](double length) -> absl::StatusOr<v1::EncodeResponse> {
    probe.set_target_length(length);
    return client.Encode(probe);
  };
  // Far beyond every trained length, a scaling that depends on the length has
  // other frequencies than at the first position.
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse far, encode_at(0x1p52));
  if (far.rotation().target_frequencies_size() == 0) return verdict;
  verdict.depends_on_length = true;
  CLIENT_ASSIGN_OR_RETURN(
      verdict.safe_length,
      SearchSafeLength(
          facts.trained_length, [&](double length) -> absl::StatusOr<bool> {
            CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                                    encode_at(length));
            return JudgeAngles(FactsOf(response.rotation())).is_safe;
          }));
  return verdict;
}

namespace {

// The bias of the last query of a sequence for the keys before it.
absl::StatusOr<BiasByDistance> BiasAtLength(Client& client,
                                            v1::EncodeRequest& request,
                                            int64_t length) {
  request.mutable_positions()->mutable_ids()->clear_ids();
  request.mutable_positions()->mutable_ids()->add_ids(length - 1);
  request.mutable_key_positions()->mutable_ids()->clear_ids();
  for (const int64_t key : SampledKeys(length)) {
    request.mutable_key_positions()->mutable_ids()->add_ids(key);
  }
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          client.Encode(request));
  CLIENT_RETURN_IF_ERROR(CheckTensor(response.bias().bias()));
  return ByDistance(response.bias());
}

}  // namespace

absl::StatusOr<BiasVerdict> JudgeBias(Client& client, v1::EncodeRequest request,
                                      double trained_length,
                                      double target_length) {
  const auto trained_count = static_cast<int64_t>(trained_length);
  const auto target_count = static_cast<int64_t>(target_length);
  if (trained_count < 1 || target_count < 1) return BiasVerdict();
  CLIENT_ASSIGN_OR_RETURN(const BiasByDistance trained,
                          BiasAtLength(client, request, trained_count));
  CLIENT_ASSIGN_OR_RETURN(const BiasByDistance target,
                          BiasAtLength(client, request, target_count));
  BiasVerdict verdict = JudgeBiases(trained, target);
  verdict.trained_length = trained_length;
  verdict.target_length = target_length;
  return verdict;
}

absl::StatusOr<v1::SchemeDescription> DescribeScheme(
    Client& client, const std::string& scheme_name) {
  CLIENT_ASSIGN_OR_RETURN(const v1::ListSchemesResponse listed,
                          client.ListSchemes({}));
  for (const v1::SchemeDescription& scheme : listed.schemes()) {
    if (scheme.name() == scheme_name) return scheme;
  }
  return v1::SchemeDescription();
}

absl::StatusOr<PictureFile> ReadOptionalPicture(const std::string& path,
                                                const std::string& theme,
                                                const std::string& flag,
                                                bool json) {
  if (path.empty()) {
    if (theme.empty()) return PictureFile();
    return UsageError(absl::StrCat("--theme needs ", flag));
  }
  if (path == "-" && json) {
    return UsageError(absl::StrCat("only one of ", flag,
                                   " - and --json can use standard "
                                   "output"));
  }
  return ReadPictureFile(path, theme.empty() ? "auto" : theme, flag);
}

absl::StatusOr<Outcome> PrintAndDraw(const std::string& text, bool json,
                                     const plot::LineChart& chart,
                                     const PictureFile& picture) {
  CLIENT_ASSIGN_OR_RETURN(const std::string bytes,
                          RenderPicture(plot::DrawLineChart(chart), picture));
  if (picture.path == "-") return Outcome{.text = bytes};
  CLIENT_RETURN_IF_ERROR(PrintThenWrite(text, [&] {
    return picture.format == plot::Format::kSvg
               ? WriteTextFile(picture.path, bytes)
               : WriteFile(picture.path, bytes, "");
  }));
  return Outcome{.text =
                     json ? "" : absl::StrCat("wrote ", picture.path, "\n")};
}

}  // namespace locus::client
