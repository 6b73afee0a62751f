#include "client/cli/render/rotation_facts.h"

#include <numbers>

namespace locus::client {
namespace {

constexpr double kRadiansPerTurn = 2 * std::numbers::pi;

}  // namespace

double RotationFacts::Wavelength(int64_t k) const {
  return kRadiansPerTurn / frequencies[k];
}

namespace {

template <typename Numbers>
std::vector<typename Numbers::value_type> ListOf(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

// Whether every list that is not empty has one element per pair. The lists come
// from a server and are not trusted.
bool IsConsistent(const RotationFacts& facts) {
  const auto fits = [&](const std::vector<double>& list) {
    return list.empty() || list.size() == facts.frequencies.size();
  };
  return fits(facts.ramp) && fits(facts.decays) && fits(facts.trained_turns) &&
         fits(facts.target_turns) &&
         facts.unscaled.size() == facts.frequencies.size() &&
         facts.trained_turns.size() == facts.target_turns.size();
}

}  // namespace

RotationFacts FactsOf(const v1::RotationEncoding& rotation) {
  RotationFacts facts;
  facts.frequencies = ListOf(rotation.target_frequencies_size() > 0
                                 ? rotation.target_frequencies()
                                 : rotation.frequencies());
  facts.unscaled = ListOf(rotation.unscaled_frequencies_size() > 0
                              ? rotation.unscaled_frequencies()
                              : rotation.frequencies());
  facts.ramp = ListOf(rotation.ramp());
  facts.decays = ListOf(rotation.decays());
  facts.attention_factor = rotation.attention_factor();
  facts.trained_length = static_cast<double>(rotation.original_length());
  facts.target_length = rotation.target_length();
  facts.trained_turns = ListOf(rotation.original_turns());
  facts.target_turns = ListOf(rotation.target_turns());
  facts.unfinished = ListOf(rotation.incomplete_pairs());
  return IsConsistent(facts) ? facts : RotationFacts();
}

RotationFacts FactsOf(const v1::AdditiveEncoding& additive,
                      double trained_length, double target_length) {
  RotationFacts facts;
  facts.rotates = false;
  facts.frequencies = ListOf(additive.frequencies());
  facts.unscaled = facts.frequencies;
  facts.trained_length = trained_length > 0 ? trained_length : target_length;
  facts.target_length = target_length > 0 ? target_length : trained_length;
  for (int64_t k = 0; k < facts.pair_count() && facts.trained_length > 0; ++k) {
    const double turns = facts.frequencies[k] / kRadiansPerTurn;
    facts.trained_turns.push_back(facts.trained_length * turns);
    facts.target_turns.push_back(facts.target_length * turns);
    if (facts.trained_turns.back() < 1) facts.unfinished.push_back(k);
  }
  return facts;
}

}  // namespace locus::client
