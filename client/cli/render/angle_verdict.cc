#include "client/cli/render/angle_verdict.h"

#include <algorithm>
#include <cmath>

#include "client/base/status_macros.h"

namespace locus::client {
namespace {

// Relative difference up to which two angles or lengths count as equal.
constexpr double kTolerance = 1e-6;

PairVerdict JudgePair(const RotationFacts& facts, int64_t k) {
  if (facts.IsStatic(k)) {
    return {.range = AngleRange::kFixed, .safe_length = kAnyLength};
  }
  const double trained = facts.trained_turns[k];
  PairVerdict verdict{.reach = facts.target_turns[k] / trained};
  if (trained >= 1) {
    verdict.range = AngleRange::kFullTurn;
    verdict.safe_length = kAnyLength;
    return verdict;
  }
  verdict.range = verdict.reach <= 1 + kTolerance ? AngleRange::kWithin
                                                  : AngleRange::kBeyond;
  verdict.safe_length =
      std::floor(facts.trained_length * facts.Stretch(k) * (1 + kTolerance));
  return verdict;
}

std::vector<int64_t>& ListOf(AngleRange range, AngleVerdict& verdict) {
  switch (range) {
    case AngleRange::kFixed:
      return verdict.fixed;
    case AngleRange::kFullTurn:
      return verdict.full_turn;
    case AngleRange::kWithin:
      return verdict.within;
    case AngleRange::kBeyond:
      break;
  }
  return verdict.beyond;
}

}  // namespace

AngleVerdict JudgeAngles(const RotationFacts& facts) {
  AngleVerdict verdict;
  if (facts.trained_turns.empty()) return verdict;
  verdict.safe_length = kAnyLength;
  for (int64_t k = 0; k < facts.pair_count(); ++k) {
    const PairVerdict pair = JudgePair(facts, k);
    verdict.pairs.push_back(pair);
    verdict.safe_length = std::min(verdict.safe_length, pair.safe_length);
    if (pair.range == AngleRange::kBeyond) {
      const bool is_first = verdict.beyond.empty();
      verdict.min_reach =
          is_first ? pair.reach : std::min(verdict.min_reach, pair.reach);
      verdict.max_reach = std::max(verdict.max_reach, pair.reach);
    }
    ListOf(pair.range, verdict).push_back(k);
  }
  verdict.is_safe = verdict.beyond.empty();
  if (!facts.rotates) {
    verdict.safe_length = facts.trained_length;
    verdict.is_safe = facts.target_length <= facts.trained_length;
  }
  return verdict;
}

absl::StatusOr<double> SearchSafeLength(
    double trained_length,
    absl::FunctionRef<absl::StatusOr<bool>(double)> is_safe) {
  constexpr double kMaxLength = 0x1p52;
  CLIENT_ASSIGN_OR_RETURN(const bool is_unlimited, is_safe(kMaxLength));
  if (is_unlimited) return kAnyLength;
  double safe = 1;
  double unsafe = kMaxLength;
  // Galloping search, because the limit is usually near the trained length.
  for (double probe = std::max(2.0, std::floor(trained_length));
       probe < kMaxLength; probe *= 2) {
    CLIENT_ASSIGN_OR_RETURN(const bool is_probe_safe, is_safe(probe));
    if (!is_probe_safe) {
      unsafe = probe;
      break;
    }
    safe = probe;
  }
  while (unsafe - safe > 1) {
    const double middle = std::floor(safe + (unsafe - safe) / 2);
    CLIENT_ASSIGN_OR_RETURN(const bool is_middle_safe, is_safe(middle));
    (is_middle_safe ? safe : unsafe) = middle;
  }
  return safe;
}

}  // namespace locus::client
