#include "client/cli/requests/load_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "client/cli/support/cli_errors.h"
#include "client/io/file.h"
#include "client/load/units.h"

namespace locus::client {
namespace {

using load::FormatRate;
using load::RateProfile;
using load::RateSegment;

// Maximum size of a replay file: several million start times.
constexpr int64_t kMaxReplayBytes = int64_t{64} << 20;
constexpr double kMaxRate = 1e6;

absl::Status CheckRate(const std::string& flag, double rate, double min) {
  if (rate >= min && rate <= kMaxRate) return absl::OkStatus();
  return UsageError(absl::StrCat(flag, ": is ", rate,
                                 " calls per second; must ",
                                 min > 0 ? "be above 0" : "be at least 0",
                                 " and at most ", FormatRate(kMaxRate)));
}

absl::Status CheckCombination(const LoadPlanFlags& flags) {
  const int loads = static_cast<int>(flags.rate.has_value()) +
                    static_cast<int>(!flags.ramp.empty()) +
                    static_cast<int>(!flags.steps.empty()) +
                    static_cast<int>(!flags.replay.empty()) +
                    static_cast<int>(flags.concurrency.has_value());
  if (loads > 1) {
    return UsageError(
        "give one of --rate, --ramp, --steps, --replay and --concurrency");
  }
  if (flags.poisson &&
      (!flags.replay.empty() || flags.concurrency.has_value())) {
    return UsageError("--poisson needs --rate, --ramp or --steps");
  }
  if (!flags.replay.empty() && !flags.duration.empty()) {
    return UsageError(
        "--duration: cannot be combined with --replay, which lasts until the "
        "last start time");
  }
  if (!flags.slo.empty() && loads > 0 && !flags.rate.has_value()) {
    return UsageError(
        "--slo searches for a rate; it can be combined with --rate, the first "
        "rate, but not with other loads");
  }
  if (!flags.slo.empty() && !flags.fail_above.empty()) {
    return UsageError("--slo and --fail-above: give one");
  }
  if (flags.slo.empty() && flags.max_rate.has_value()) {
    return UsageError("--max-rate needs --slo");
  }
  if (flags.concurrency.has_value() &&
      (*flags.concurrency < 1 || *flags.concurrency > 100000)) {
    return UsageError(absl::StrCat("--concurrency: is ", *flags.concurrency,
                                   "; must be from 1 to 100000"));
  }
  return absl::OkStatus();
}

// Parses the value of a time flag, or `default_text` if it is empty.
absl::StatusOr<int64_t> ParseTime(const std::string& flag,
                                  const std::string& text,
                                  const std::string& default_text,
                                  int64_t min) {
  const auto nanos = load::ParseNanos(text.empty() ? default_text : text);
  if (!nanos.ok()) return AsUsage(nanos.status(), flag);
  if (*nanos < min) {
    return UsageError(absl::StrCat(flag, ": is ", text, "; must be at least ",
                                   load::FormatNanos(min)));
  }
  return *nanos;
}

absl::StatusOr<RateSegment> ParseRamp(const std::string& text, double seconds) {
  const std::vector<std::string> ends = absl::StrSplit(text, ':');
  RateSegment segment{.seconds = seconds};
  if (ends.size() != 2 || !absl::SimpleAtod(ends[0], &segment.from_rate) ||
      !absl::SimpleAtod(ends[1], &segment.to_rate)) {
    return UsageError(absl::StrCat("--ramp: \"", text,
                                   "\" is not FROM:TO, such as 100:5000"));
  }
  CLIENT_RETURN_IF_ERROR(CheckRate("--ramp", segment.from_rate, 0));
  CLIENT_RETURN_IF_ERROR(CheckRate("--ramp", segment.to_rate, 0));
  if (segment.from_rate + segment.to_rate <= 0) {
    return UsageError("--ramp: both rates are 0, which makes no calls");
  }
  return segment;
}

absl::StatusOr<std::vector<RateSegment>> MakeSegments(
    const LoadPlanFlags& flags, double seconds) {
  // One call per hour.
  constexpr double kMinRate = 1.0 / 3600;
  if (!flags.ramp.empty()) {
    CLIENT_ASSIGN_OR_RETURN(const RateSegment ramp,
                            ParseRamp(flags.ramp, seconds));
    return std::vector<RateSegment>{ramp};
  }
  std::vector<RateSegment> segments;
  if (!flags.steps.empty()) {
    for (const double rate : flags.steps) {
      CLIENT_RETURN_IF_ERROR(CheckRate("--steps", rate, kMinRate));
      segments.push_back(
          {seconds / static_cast<double>(flags.steps.size()), rate, rate});
    }
    return segments;
  }
  const double rate = flags.rate.value_or(1000);
  CLIENT_RETURN_IF_ERROR(CheckRate("--rate", rate, kMinRate));
  return std::vector<RateSegment>{{seconds, rate, rate}};
}

std::string Describe(const LoadPlanFlags& flags,
                     const std::vector<RateSegment>& segments) {
  const char* arrivals = flags.poisson ? " Poisson" : " constant";
  if (!flags.ramp.empty()) {
    return absl::StrCat("ramp from ", FormatRate(segments[0].from_rate),
                        "/s to ", FormatRate(segments[0].to_rate), "/s",
                        flags.poisson ? arrivals : "");
  }
  if (!flags.steps.empty()) {
    return absl::StrCat("steps of ",
                        absl::StrJoin(flags.steps, ", ",
                                      [](std::string* out, double rate) {
                                        absl::StrAppend(out, FormatRate(rate));
                                      }),
                        "/s", flags.poisson ? arrivals : "");
  }
  return absl::StrCat(FormatRate(segments[0].from_rate), "/s", arrivals);
}

absl::StatusOr<LoadPlan> PlanReplay(const LoadPlanFlags& flags) {
  absl::StatusOr<FileReader> reader = FileReader::Open(flags.replay);
  if (!reader.ok()) return AsUsage(reader.status(), "--replay");
  const absl::StatusOr<std::string> text = reader->Read(kMaxReplayBytes);
  if (!text.ok()) return AsUsage(text.status(), "--replay");
  auto times = load::ParseReplay(*text);
  if (!times.ok()) {
    return AsUsage(times.status(), absl::StrCat("--replay: ", flags.replay));
  }
  LoadPlan plan;
  CLIENT_ASSIGN_OR_RETURN(plan.warm_up_nanos,
                          ParseTime("--warm-up", flags.warm_up, "0", 0));
  plan.length_nanos = times->back() + 1;
  const auto measured_count =
      times->end() -
      std::lower_bound(times->begin(), times->end(), plan.warm_up_nanos);
  if (measured_count == 0) {
    return UsageError("--warm-up: is longer than the replay");
  }
  plan.offered_rate =
      static_cast<double>(measured_count) /
      std::max(1e-3, load::ToSeconds(plan.length_nanos - plan.warm_up_nanos));
  plan.text = absl::StrCat("replay of ", times->size(), " calls");
  plan.make_schedule = [times = *std::move(times)] {
    return load::MakeReplay(times);
  };
  return plan;
}

}  // namespace

absl::StatusOr<LoadPlan> MakeLoadPlan(const LoadPlanFlags& flags) {
  CLIENT_RETURN_IF_ERROR(CheckCombination(flags));
  if (flags.max_rate.has_value()) {
    CLIENT_RETURN_IF_ERROR(CheckRate("--max-rate", *flags.max_rate, 1));
  }
  if (!flags.replay.empty()) return PlanReplay(flags);
  LoadPlan plan;
  CLIENT_ASSIGN_OR_RETURN(plan.warm_up_nanos,
                          ParseTime("--warm-up", flags.warm_up, "1s", 0));
  // Shorter runs measure too few calls.
  constexpr int64_t kMinNanos = int64_t{100} * 1000 * 1000;
  CLIENT_ASSIGN_OR_RETURN(
      const int64_t duration,
      ParseTime("--duration", flags.duration, flags.slo.empty() ? "10s" : "3s",
                kMinNanos));
  plan.length_nanos = plan.warm_up_nanos + duration;
  if (flags.concurrency.has_value()) {
    plan.concurrency = *flags.concurrency;
    plan.text = absl::StrCat("closed loop of ", plan.concurrency,
                             plan.concurrency == 1 ? " call" : " calls");
    return plan;
  }
  CLIENT_ASSIGN_OR_RETURN(std::vector<RateSegment> segments,
                          MakeSegments(flags, load::ToSeconds(duration)));
  plan.text = Describe(flags, segments);
  plan.offered_rate =
      RateProfile(segments).call_count() / load::ToSeconds(duration);
  if (plan.warm_up_nanos > 0) {
    const double rate = segments[0].from_rate;
    segments.insert(segments.begin(),
                    {load::ToSeconds(plan.warm_up_nanos), rate, rate});
  }
  plan.make_schedule = [segments = std::move(segments),
                        arrivals = flags.poisson ? load::Arrivals::kPoisson
                                                 : load::Arrivals::kRegular,
                        seed = flags.seed.value_or(0)] {
    return load::MakeSchedule(RateProfile(segments), arrivals, seed);
  };
  return plan;
}

absl::StatusOr<std::vector<load::Slo>> ParseSlos(
    const std::string& flag, const std::vector<std::string>& texts) {
  std::vector<load::Slo> slos;
  for (const std::string& text : texts) {
    auto slo = load::ParseSlo(text);
    if (!slo.ok()) return AsUsage(slo.status(), flag);
    slos.push_back(*std::move(slo));
  }
  return slos;
}

}  // namespace locus::client
