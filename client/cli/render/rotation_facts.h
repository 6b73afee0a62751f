// The channel pairs of a rotation or of a table of sines and cosines, as
// `locus explain` and `locus compare` describe them.
#pragma once

#include <cstdint>
#include <vector>

#include "locus/v1/encoding.pb.h"

namespace locus::client {

// The channel pairs of a rotation, or of a table of sines and cosines, and how
// far each pair turns within the training length and the target length. A list
// that is not empty has one element per pair.
struct RotationFacts {
  // Whether the scheme rotates queries and keys. False for tables, which have
  // no scaling and no attention factor.
  bool rotates = true;
  // Radians per position in a call of the target length, with the scaling.
  std::vector<double> frequencies;
  // Radians per position without the scaling.
  std::vector<double> unscaled;
  // The share of the scaling applied to a pair, from 0 (unchanged) to 1 (slowed
  // down by the full factor). Empty without a scaling.
  std::vector<double> ramp;
  // The factor by which the contribution of a pair to the score decays per
  // position of distance. Empty for schemes without decay.
  std::vector<double> decays;
  double attention_factor = 1;
  // 0 if unknown; the lists of turns are empty then.
  double trained_length = 0;
  double target_length = 0;
  // Turns within the trained length without scaling, and within the target
  // length with scaling.
  std::vector<double> trained_turns;
  std::vector<double> target_turns;
  // Pairs that rotate but complete no turn within the trained length, without
  // scaling. Past that length they reach angles that training never covers.
  std::vector<int64_t> unfinished;

  int64_t pair_count() const {
    return static_cast<int64_t>(frequencies.size());
  }
  bool has_scaling() const { return !ramp.empty(); }
  // Positions per turn; infinite if the pair does not rotate.
  double Wavelength(int64_t k) const;
  // The factor by which scaling slows the pair down; infinite if it does not
  // rotate.
  double Stretch(int64_t k) const { return unscaled[k] / frequencies[k]; }
  bool IsStatic(int64_t k) const { return frequencies[k] == 0; }
};

// Facts about a rotation. Returns empty facts if the lists sent by the server
// have different lengths.
RotationFacts FactsOf(const v1::RotationEncoding& rotation);
// Facts about a table of sines and cosines. A length of 0 is unknown.
RotationFacts FactsOf(const v1::AdditiveEncoding& additive,
                      double trained_length, double target_length);

}  // namespace locus::client
