#include "core/evaluation/retrofit.h"

#include "absl/strings/str_cat.h"
#include "core/encoding/rope_scaling/scaling.h"

namespace locus {

std::vector<RetrofitScheme> RetrofitSchemes(int64_t train_length) {
  constexpr int kFactors[] = {2, 4, 8};
  std::vector<RetrofitScheme> schemes = {{"rope", {}}};
  for (const RopeScalingInfo& info : AllRopeScalings()) {
    if (!info.can_retrofit) continue;
    for (const int factor : kFactors) {
      RetrofitScheme scheme{absl::StrCat(info.name, "_x", factor), {}};
      scheme.arguments.Set(info.name, true);
      scheme.arguments.Set(absl::StrCat(info.name, ".factor"),
                           static_cast<double>(factor));
      for (const Parameter& parameter : info.parameters) {
        if (parameter.name == "original_length" ||
            parameter.name == "max_position") {
          scheme.arguments.Set(absl::StrCat(info.name, ".", parameter.name),
                               train_length);
        }
      }
      schemes.push_back(std::move(scheme));
    }
  }
  return schemes;
}

}  // namespace locus
