#include "client/cli/labs/lab.h"

namespace locus::client {

absl::Span<const Lab> Labs() {
  static const auto* const labs = new std::vector<Lab>{
      EquivarianceLab(), SinusoidalLab(), RopeLab(),         AlibiLab(),
      PropertiesLab(),   OrderingLab(),   ExtrapolationLab()};
  return *labs;
}

}  // namespace locus::client
