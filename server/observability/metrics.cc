#include "server/observability/metrics.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <utility>

#include "server/base/version.h"
#include "server/observability/process_metrics.h"

namespace locus::server {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

// Bucket boundaries in seconds: from 10 us, the time of an empty call, to a
// minute.
const Histogram::BucketBoundaries& Buckets() {
  static const auto* const buckets = new Histogram::BucketBoundaries{
      10e-6,  25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3,
      2.5e-3, 5e-3,  10e-3, 25e-3,  50e-3,  0.1,    0.25,
      0.5,    1,     2.5,   5,      10,     30,     60};
  return *buckets;
}

Family<Counter>& CounterFamily(Registry& registry, const char* name,
                               const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Histogram>& HistogramFamily(Registry& registry, const char* name,
                                   const char* help) {
  return BuildHistogram().Name(name).Help(help).Register(registry);
}

Family<Gauge>& GaugeFamily(Registry& registry, absl::string_view name,
                           absl::string_view help) {
  return BuildGauge()
      .Name(std::string(name))
      .Help(std::string(help))
      .Register(registry);
}

}  // namespace

absl::string_view NameOf(grpc::StatusCode code) {
  static constexpr const char* kNames[kGrpcCodeCount] = {"OK",
                                                         "CANCELLED",
                                                         "UNKNOWN",
                                                         "INVALID_ARGUMENT",
                                                         "DEADLINE_EXCEEDED",
                                                         "NOT_FOUND",
                                                         "ALREADY_EXISTS",
                                                         "PERMISSION_DENIED",
                                                         "RESOURCE_EXHAUSTED",
                                                         "FAILED_PRECONDITION",
                                                         "ABORTED",
                                                         "OUT_OF_RANGE",
                                                         "UNIMPLEMENTED",
                                                         "INTERNAL",
                                                         "UNAVAILABLE",
                                                         "DATA_LOSS",
                                                         "UNAUTHENTICATED"};
  const int index = static_cast<int>(code);
  return index >= 0 && index < kGrpcCodeCount ? kNames[index] : "UNKNOWN";
}

Metrics::Metrics(absl::string_view version)
    : started_(CounterFamily(registry_, "grpc_server_started_total",
                             "Calls started.")),
      handled_(CounterFamily(registry_, "grpc_server_handled_total",
                             "Calls ended, by status code.")),
      messages_received_(CounterFamily(
          registry_, "grpc_server_msg_received_total", "Messages received.")),
      messages_sent_(CounterFamily(registry_, "grpc_server_msg_sent_total",
                                   "Messages sent.")),
      handling_seconds_(HistogramFamily(
          registry_, "grpc_server_handling_seconds",
          "Time from the arrival of a call to the end of its response.")),
      queue_seconds_(HistogramFamily(registry_, "locus_queue_seconds",
                                     "Time that calls waited for a slot.")),
      compute_seconds_(CounterFamily(registry_, "locus_compute_seconds_total",
                                     "Time that calls spent computing.")) {
  GaugeFamily(registry_, "locus_build_info",
              "Always 1; the labels are version and commit.")
      .Add({{"version", std::string(version)}, {"commit", Commit()}})
      .Set(1);
  in_flight_calls_ = &GaugeFamily(registry_, "locus_in_flight_calls",
                                  "Calls started and not ended.")
                          .Add({});
  auto& rejected = CounterFamily(registry_, "locus_rejected_calls_total",
                                 "Valid calls rejected, by reason.");
  for (const RejectReason reason : kRejectReasons) {
    rejected_calls_[static_cast<size_t>(reason)] =
        &rejected.Add({{"reason", std::string(NameOf(reason))}});
  }
  auto& admitted =
      CounterFamily(registry_, "locus_admitted_calls_total",
                    "Calls admitted to compute, by expected cost.");
  for (const CostClass cost_class : kCostClasses) {
    admitted_calls_[static_cast<size_t>(cost_class)] =
        &admitted.Add({{"cost_class", std::string(NameOf(cost_class))}});
  }
  evaluation_cells_ = &CounterFamily(registry_, "locus_evaluation_cells_total",
                                     "Evaluation cells completed.")
                           .Add({});
  evaluation_steps_ = &CounterFamily(registry_, "locus_evaluation_steps_total",
                                     "Training steps completed.")
                           .Add({});
}

MethodMetrics Metrics::AddMethod(absl::string_view service,
                                 absl::string_view method, MethodType type) {
  const bool unary = type == MethodType::kUnary;
  const prometheus::Labels labels = {
      {"grpc_type", unary ? "unary" : "server_stream"},
      {"grpc_service", std::string(service)},
      {"grpc_method", std::string(method)}};
  const prometheus::Labels operation = {{"operation", std::string(method)}};
  MethodMetrics metrics;
  metrics.started = &started_.Add(labels);
  metrics.messages_received = &messages_received_.Add(labels);
  metrics.messages_sent = &messages_sent_.Add(labels);
  metrics.handling_seconds = &handling_seconds_.Add(labels, Buckets());
  metrics.queue_seconds = &queue_seconds_.Add(operation, Buckets());
  metrics.compute_seconds = &compute_seconds_.Add(operation);
  for (int code = 0; code < kGrpcCodeCount; ++code) {
    prometheus::Labels with_code = labels;
    with_code["grpc_code"] =
        std::string(NameOf(static_cast<grpc::StatusCode>(code)));
    metrics.handled[code] = &handled_.Add(with_code);
  }
  return metrics;
}

void Metrics::AddGauge(absl::string_view name, absl::string_view help,
                       std::function<double()> value,
                       const prometheus::Labels& labels) {
  callback_gauges_.push_back(
      {&GaugeFamily(registry_, name, help).Add(labels), std::move(value)});
}

void Metrics::AddCounter(absl::string_view name, absl::string_view help,
                         std::function<int64_t()> value,
                         const prometheus::Labels& labels) {
  callback_counters_.push_back(
      {std::string(name), std::string(help), labels, std::move(value)});
}

std::vector<prometheus::MetricFamily> Metrics::CollectCallbackCounters() const {
  std::vector<prometheus::MetricFamily> families;
  for (const CallbackCounter& counter : callback_counters_) {
    if (families.empty() || families.back().name != counter.name) {
      families.push_back(
          {counter.name, counter.help, prometheus::MetricType::Counter, {}});
    }
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : counter.labels) {
      metric.label.push_back({name, value});
    }
    metric.counter.value = static_cast<double>(counter.value());
    families.back().metric.push_back(std::move(metric));
  }
  return families;
}

std::vector<prometheus::MetricFamily> Metrics::Collect() const {
  for (const CallbackGauge& gauge : callback_gauges_) {
    gauge.gauge->Set(gauge.value());
  }
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  for (prometheus::MetricFamily& family : CollectCallbackCounters()) {
    families.push_back(std::move(family));
  }
  for (prometheus::MetricFamily& family : CollectProcessMetrics()) {
    families.push_back(std::move(family));
  }
  return families;
}

std::string Metrics::Text() const {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, Collect());
  return text.str();
}

}  // namespace locus::server
