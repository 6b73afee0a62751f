#include "core/evaluation/retrofit.h"

#include "absl/strings/str_cat.h"
#include "core/encoding/rope_scaling/scaling.h"

namespace locus {

std::vector<RetrofitScheme> RetrofitSchemes(int64_t train_length,
                                            int64_t head_dim) {
  constexpr int kFactors[] = {2, 4, 8};
  std::vector<RetrofitScheme> schemes = {{"rope", {}}};
  for (const RopeScalingInfo& info : AllRopeScalings()) {
    for (const int factor : kFactors) {
      Arguments arguments;
      arguments.Set("factor", static_cast<double>(factor));
      for (const Parameter& parameter : info.parameters) {
        if (parameter.name == "original_length" ||
            parameter.name == "max_position") {
          arguments.Set(parameter.name, train_length);
        }
      }
      if (info.retrofit != nullptr) info.retrofit(factor, head_dim, &arguments);
      RetrofitScheme scheme{absl::StrCat(info.name, "\xc3\x97", factor), {}};
      scheme.arguments.Set("layout", std::string("INTERLEAVED"));
      scheme.arguments.SetWithin(info.name, arguments);
      schemes.push_back(std::move(scheme));
    }
  }
  return schemes;
}

}  // namespace locus
