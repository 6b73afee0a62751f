#include "core/properties/property_case.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/encoding/compiled.h"

namespace locus {
namespace {

// Reported in place of infinite and NaN deviations.
constexpr double kMaxReported = 1e308;

bool Agrees(const CheckOutcome& outcome, Verdict verdict,
            Promise::Answer promise) {
  if (outcome.kind == CheckOutcome::Kind::kNotRun) return true;
  switch (promise) {
    case Promise::Answer::kYes:
      return verdict == Verdict::kHolds;
    case Promise::Answer::kNo:
      return verdict == Verdict::kFails;
    case Promise::Answer::kNotApplicable:
      return verdict == Verdict::kUndefined;
  }
  return false;
}

}  // namespace

CheckOutcome Measured(double measured, double tolerance,
                      std::string worked_case) {
  return {CheckOutcome::Kind::kMeasured, measured, tolerance,
          std::move(worked_case)};
}

CheckOutcome NotApplicable(absl::string_view reason) {
  return {.kind = CheckOutcome::Kind::kUndefined,
          .worked_case = absl::StrCat("Not applicable: ", reason, ".")};
}

CheckOutcome NotRun(absl::string_view reason) {
  return {.kind = CheckOutcome::Kind::kNotRun,
          .worked_case = absl::StrCat("Not run: ", reason, ".")};
}

PropertyResult ResultOf(absl::string_view property, const CheckOutcome& outcome,
                        Promise::Answer promise) {
  PropertyResult result;
  result.property = std::string(property);
  if (outcome.kind == CheckOutcome::Kind::kMeasured) {
    // The comparison is false for NaN, so that NaN fails.
    result.verdict = outcome.measured <= outcome.tolerance ? Verdict::kHolds
                                                           : Verdict::kFails;
    result.measured = std::isfinite(outcome.measured)
                          ? std::min(outcome.measured, kMaxReported)
                          : kMaxReported;
    result.tolerance = outcome.tolerance;
  }
  result.promise = promise;
  result.as_promised = Agrees(outcome, result.verdict, promise);
  result.worked_case = outcome.worked_case;
  return result;
}

std::string FormatDigits(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

double Dot(const RealVector& a, const RealVector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double Norm(const RealVector& a) { return std::sqrt(Dot(a, a)); }

double Distance(const RealVector& a, const RealVector& b) {
  double squares = 0;
  for (size_t c = 0; c < a.size(); ++c) {
    squares += (a[c] - b[c]) * (a[c] - b[c]);
  }
  return std::sqrt(squares);
}

double MaxAbsDifference(const RealVector& a, const RealVector& b) {
  double largest = 0;
  for (size_t n = 0; n < a.size(); ++n) {
    const double difference = std::abs(a[n] - b[n]);
    UpdateMax(difference, &largest);
  }
  return largest;
}

double MaxAbs(const RealVector& a) {
  return MaxAbsDifference(a, RealVector(a.size(), 0.0));
}

void UpdateMax(double value, double* max) {
  if (!(value <= *max) && !std::isnan(*max)) *max = value;
}

bool AllWithin(double tolerance, const RealVector& a, const RealVector& b) {
  for (size_t n = 0; n < a.size(); ++n) {
    if (std::abs(a[n] - b[n]) > tolerance) return false;
  }
  return true;
}

Probe::Probe(CompiledScheme compiled, int64_t dim, int64_t head_count,
             int64_t length)
    : compiled_(std::move(compiled)),
      dim_(dim),
      head_count_(head_count),
      length_(length) {}

absl::StatusOr<Probe> Probe::Make(const Scheme& scheme, int64_t length,
                                  int64_t dim, int64_t head_count) {
  if (scheme.dim() != 0) dim = scheme.dim();
  if (scheme.head_count() != 0) head_count = scheme.head_count();
  while (true) {
    auto compiled = scheme.Compile(
        {.dim = dim, .head_count = head_count, .max_position = length - 1});
    if (compiled.ok()) {
      return Probe(*std::move(compiled), dim, head_count, length);
    }
    if (scheme.site() != Site::kQueriesAndKeys || scheme.dim() != 0 ||
        2 * dim > kMaxCaseDim) {
      return compiled.status();
    }
    dim *= 2;
  }
}

absl::StatusOr<Probe> Probe::Longest(const Scheme& scheme, int64_t limit,
                                     int64_t dim) {
  int64_t length = 1;
  while (2 * length <= limit) length *= 2;
  auto probe = Make(scheme, length, dim);
  while (!probe.ok() && length > 1) {
    length /= 2;
    probe = Make(scheme, length, dim);
  }
  return probe;
}

absl::StatusOr<Probe> Probe::WithinTable(const Scheme& scheme, int64_t limit,
                                         int64_t dim) {
  if (scheme.table_length() == 0) return Longest(scheme, limit, dim);
  return Make(scheme, std::min(limit, scheme.table_length()), dim);
}

const AdditiveCode* Probe::code() const { return CodeOf(compiled_); }
const Rotation* Probe::rotation() const { return RotationOf(compiled_); }
const ScoreBias* Probe::bias() const { return BiasOf(compiled_); }

bool Probe::is_empty() const {
  return std::holds_alternative<std::monostate>(compiled_);
}

RealVector Probe::Code(int64_t position) const {
  RealVector row(dim_);
  code()->Row(position, absl::MakeSpan(row));
  return row;
}

namespace {

RealVector Rotated(const Rotation& rotation, int64_t position, RealVector row) {
  RealVector cos(rotation.pair_count());
  RealVector sin(rotation.pair_count());
  rotation.Angles(position, cos.data(), sin.data());
  rotation.Apply(cos.data(), sin.data(), row.data());
  return row;
}

}  // namespace

RealVector Probe::RotateQuery(int64_t position, RealVector row) const {
  return Rotated(*rotation(), position, std::move(row));
}

RealVector Probe::RotateKey(int64_t position, RealVector row) const {
  return Rotated(rotation()->OfKeys(), position, std::move(row));
}

RealVector Probe::Bias(int64_t query, int64_t key) const {
  RealVector row(head_count_);
  for (int64_t h = 0; h < head_count_; ++h) row[h] = bias()->At(h, query, key);
  return row;
}

RealVector Probe::Signature(int64_t n, int64_t query) const {
  if (code() != nullptr) return Code(n);
  if (bias() != nullptr) return Bias(query, query - n);
  if (rotation() == nullptr) return {};
  const int64_t pairs = rotation()->pair_count();
  RealVector row(2 * pairs);
  rotation()->Angles(n, row.data(), row.data() + pairs);
  return row;
}

std::vector<RealVector> Probe::Signatures(int64_t count) const {
  std::vector<RealVector> signatures;
  for (int64_t n = 0; n < count; ++n) signatures.push_back(Signature(n));
  return signatures;
}

std::optional<CheckOutcome> Unmeasurable(const absl::StatusOr<Probe>& probe,
                                         int64_t min_length) {
  if (!probe.ok()) return NotRun(probe.status().message());
  if (probe->is_empty()) return NotApplicable("there is no code");
  if (probe->length() >= min_length) return std::nullopt;
  return NotRun(absl::StrCat("the scheme serves only ", probe->length(),
                             " positions, and the case needs ", min_length));
}

absl::string_view SignatureNoun(const Scheme& scheme) {
  switch (scheme.site()) {
    case Site::kQueriesAndKeys:
      return "rotations of positions";
    case Site::kScores:
      return "biases of distances over all heads";
    default:
      return "codes of positions";
  }
}

}  // namespace locus
