#include <utility>

#include "absl/strings/str_cat.h"
#include "client/load/bottleneck.h"
#include "client/load/report.h"
#include "nlohmann/json.hpp"

namespace locus::client::load {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "locus-load-1";

double Micros(double nanos) { return nanos / 1e3; }
double Micros(int64_t nanos) { return static_cast<double>(nanos) / 1e3; }

Json TimesJson(const Histogram& histogram) {
  Json json = {{"count", histogram.count()},
               {"mean", Micros(histogram.mean())},
               {"min", Micros(histogram.min())}};
  for (const NamedPercentile& percentile : kPercentiles) {
    json[percentile.name] = Micros(histogram.Percentile(percentile.percent));
  }
  json["max"] = Micros(histogram.max());
  return json;
}

Json HistogramJson(const Histogram& histogram) {
  Json bins = Json::array();
  for (const Histogram::Bin& bin : histogram.Bins()) {
    bins.push_back({bin.nanos, bin.count});
  }
  return {{"min_ns", histogram.min()},
          {"max_ns", histogram.max()},
          {"sum_ns", histogram.sum()},
          {"bins", std::move(bins)}};
}

Json SetupJson(const Setup& setup) {
  return {{"server", setup.server},
          {"method", setup.method},
          {"request_bytes", setup.request_bytes},
          {"load", setup.load},
          {"offered_rate", setup.offered_rate},
          {"connections", setup.connections},
          {"threads", setup.threads},
          {"warm_up_seconds", setup.warm_up_seconds},
          {"duration_seconds", setup.duration_seconds},
          {"command", setup.command}};
}

Json CostJson(const ClientCost& cost) {
  const auto calls = static_cast<double>(cost.calls);
  Json json = {{"wall_seconds", cost.wall_seconds},
               {"calls", cost.calls},
               {"thread_cpu_seconds", cost.thread_cpu_seconds},
               {"process_cpu_seconds", cost.process_cpu_seconds},
               {"busiest_thread", cost.busiest_thread}};
  if (cost.calls > 0) {
    json["cpu_us_per_call"] = cost.thread_cpu_seconds * 1e6 / calls;
  }
  if (cost.machine_busy.has_value()) {
    json["machine_busy"] = *cost.machine_busy;
  }
  return json;
}

Json IntervalJson(const Interval& interval) {
  return {{"from_seconds", interval.from_seconds},
          {"to_seconds", interval.to_seconds},
          {"ok", interval.ok},
          {"failed", interval.failed},
          {"in_flight", interval.in_flight},
          {"p50", Micros(interval.p50)},
          {"p90", Micros(interval.p90)},
          {"p99", Micros(interval.p99)},
          {"p99.9", Micros(interval.p999)},
          {"max", Micros(interval.max)},
          {"service_p50", Micros(interval.service_p50)},
          {"service_p99", Micros(interval.service_p99)}};
}

Json SearchJson(const Search& search) {
  Json trials = Json::array();
  for (const Trial& trial : search.trials) {
    trials.push_back({{"rate", trial.rate},
                      {"throughput", trial.throughput},
                      {"meets_slos", trial.meets_slos},
                      {"measured", trial.measured},
                      {"violations", trial.violations}});
  }
  Json json = {{"slos", search.slos}};
  json["best_rate"] = search.best.has_value() ? Json(*search.best) : Json();
  json["reached_max"] = search.reached_max;
  json["trials"] = std::move(trials);
  return json;
}

Json CountsJson(const Result& result) {
  return {{"ok", result.statistics.ok_count()},
          {"failed", result.statistics.failed_count()},
          {"unsent", result.unsent},
          {"unfinished", result.unfinished},
          {"delayed", result.delayed},
          {"suppressed", result.suppressed}};
}

Json StatusesJson(const Statistics& statistics) {
  Json json = Json::object();
  for (int code = 0; code < kCodeCount; ++code) {
    if (statistics.by_code[code] == 0) continue;
    json[absl::StatusCodeToString(static_cast<absl::StatusCode>(code))] =
        statistics.by_code[code];
  }
  return json;
}

// Calls visit(name, histogram) for each histogram, with its name in the JSON
// document.
template <typename AnyStatistics, typename Visitor>
void ForEachHistogram(AnyStatistics& statistics, Visitor visit) {
  visit("latency", statistics.latency);
  visit("service", statistics.service);
  visit("queue", statistics.queue);
  visit("compute", statistics.compute);
  visit("failed", statistics.failed);
  visit("delay", statistics.delay);
}

Histogram ReadHistogram(const Json& json) {
  std::vector<Histogram::Bin> bins;
  for (const Json& bin : json.at("bins")) {
    bins.push_back({bin.at(0).get<int64_t>(), bin.at(1).get<int64_t>()});
  }
  return Histogram::FromBins(bins, {.min = json.at("min_ns").get<int64_t>(),
                                    .max = json.at("max_ns").get<int64_t>(),
                                    .sum = json.at("sum_ns").get<double>()});
}

Setup ReadSetup(const Json& json) {
  Setup setup;
  json.at("server").get_to(setup.server);
  json.at("method").get_to(setup.method);
  json.at("request_bytes").get_to(setup.request_bytes);
  json.at("load").get_to(setup.load);
  json.at("offered_rate").get_to(setup.offered_rate);
  json.at("connections").get_to(setup.connections);
  json.at("threads").get_to(setup.threads);
  json.at("warm_up_seconds").get_to(setup.warm_up_seconds);
  json.at("duration_seconds").get_to(setup.duration_seconds);
  setup.command = json.value("command", "");
  return setup;
}

Interval ReadInterval(const Json& json) {
  const auto nanos = [&json](const char* key) {
    return static_cast<int64_t>(json.at(key).get<double>() * 1e3);
  };
  return {.from_seconds = json.at("from_seconds").get<double>(),
          .to_seconds = json.at("to_seconds").get<double>(),
          .ok = json.at("ok").get<int64_t>(),
          .failed = json.at("failed").get<int64_t>(),
          .in_flight = json.at("in_flight").get<int64_t>(),
          .p50 = nanos("p50"),
          .p90 = nanos("p90"),
          .p99 = nanos("p99"),
          .p999 = nanos("p99.9"),
          .max = nanos("max"),
          .service_p50 = nanos("service_p50"),
          .service_p99 = nanos("service_p99")};
}

Result ReadResult(const Json& json) {
  Result result;
  result.setup = ReadSetup(json.at("setup"));
  json.at("measured_seconds").get_to(result.measured_seconds);
  json.at("interrupted").get_to(result.interrupted);
  json.at("calls").at("unsent").get_to(result.unsent);
  for (const Json& interval : json.at("timeline")) {
    result.timeline.push_back(ReadInterval(interval));
  }
  ForEachHistogram(result.statistics,
                   [&json](const char* name, Histogram& histogram) {
                     histogram = ReadHistogram(json.at("histograms").at(name));
                   });
  for (int code = 0; code < kCodeCount; ++code) {
    result.statistics.by_code[code] =
        json.at("statuses")
            .value(
                absl::StatusCodeToString(static_cast<absl::StatusCode>(code)),
                int64_t{0});
  }
  const Json& client = json.at("client");
  client.at("calls").get_to(result.cost.calls);
  client.at("thread_cpu_seconds").get_to(result.cost.thread_cpu_seconds);
  return result;
}

}  // namespace

std::string JsonReport(const Report& report) {
  const Result& result = report.result;
  Json json = {{"format", kFormat},
               {"setup", SetupJson(result.setup)},
               {"interrupted", result.interrupted},
               {"measured_seconds", result.measured_seconds},
               {"throughput", result.Throughput()},
               {"error_ratio", result.ErrorRatio()},
               {"calls", CountsJson(result)},
               {"statuses", StatusesJson(result.statistics)}};
  ForEachHistogram(result.statistics,
                   [&json](const char* name, const Histogram& histogram) {
                     json[absl::StrCat(name, "_us")] = TimesJson(histogram);
                   });
  json["client"] = CostJson(result.cost);
  json["warnings"] = MeasurementWarnings(result);
  json["violations"] = report.violations;
  if (report.search.has_value()) json["search"] = SearchJson(*report.search);
  json["timeline"] = Json::array();
  for (const Interval& interval : result.timeline) {
    json["timeline"].push_back(IntervalJson(interval));
  }
  ForEachHistogram(result.statistics,
                   [&json](const char* name, const Histogram& histogram) {
                     json["histograms"][name] = HistogramJson(histogram);
                   });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Result> ParseJsonReport(absl::string_view text) {
  // nlohmann::json reports errors as exceptions.
  try {
    const Json json = Json::parse(text.begin(), text.end());
    if (!json.is_object() || json.value("format", "") != kFormat) {
      return absl::InvalidArgumentError("is not a JSON report of locus load");
    }
    return ReadResult(json);
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not a valid report: ", error.what()));
  }
}

}  // namespace locus::client::load
