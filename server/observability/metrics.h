// Prometheus metrics of the server; docs/operations.md describes each of them.
//
// Names follow the convention of grpc-ecosystem/go-grpc-prometheus where it has
// one, and begin with locus_ otherwise. Every time series is created at the
// start, because looking one up takes a lock. Labels never contain strings from
// callers.
#pragma once

#include <grpcpp/support/status_code_enum.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/admission/policy.h"
#include "server/admission/rejection.h"

namespace locus::server {

inline constexpr int kGrpcCodeCount = 17;

// Returns the name of a status code, such as "INVALID_ARGUMENT".
absl::string_view NameOf(grpc::StatusCode code);

enum class MethodType { kUnary, kServerStream };

// The time series of one RPC method. The pointers are owned by Metrics and
// never null.
struct MethodMetrics {
  prometheus::Counter* started;
  std::array<prometheus::Counter*, kGrpcCodeCount> handled;  // by code
  prometheus::Counter* messages_received;
  prometheus::Counter* messages_sent;
  prometheus::Histogram* handling_seconds;
  prometheus::Histogram* queue_seconds;
  prometheus::Counter* compute_seconds;
};

// All metrics of a server. Add...() must not run concurrently with any other
// function; everything else is thread-safe.
class Metrics {
 public:
  explicit Metrics(absl::string_view version);

  // Creates the time series of a method. `service` is a full name, such as
  // locus.v1.EncodingService.
  MethodMetrics AddMethod(absl::string_view service, absl::string_view method,
                          MethodType type);

  prometheus::Gauge& in_flight_calls() { return *in_flight_calls_; }
  // Valid calls rejected for `reason`.
  prometheus::Counter& rejected_calls(RejectReason reason) {
    return *rejected_calls_[static_cast<size_t>(reason)];
  }

  // Calls admitted to compute.
  prometheus::Counter& admitted_calls(CostClass cost_class) {
    return *admitted_calls_[static_cast<size_t>(cost_class)];
  }

  prometheus::Counter& evaluation_cells() { return *evaluation_cells_; }
  prometheus::Counter& evaluation_steps() { return *evaluation_steps_; }

  // Adds a gauge whose value is computed by `value` at each scrape. Gauges that
  // share a name and differ in their labels must have the same help text.
  void AddGauge(absl::string_view name, absl::string_view help,
                std::function<double()> value,
                const prometheus::Labels& labels = {});

  // Adds a counter whose value is computed by `value` at each scrape and never
  // decreases. Counters that share a name must be added one after another.
  void AddCounter(absl::string_view name, absl::string_view help,
                  std::function<int64_t()> value,
                  const prometheus::Labels& labels = {});

  // Returns all metrics, including those of the process.
  std::vector<prometheus::MetricFamily> Collect() const;
  // Returns the same in the Prometheus text format.
  std::string Text() const;

 private:
  struct CallbackGauge {
    prometheus::Gauge* gauge;
    std::function<double()> value;
  };

  struct CallbackCounter {
    std::string name;
    std::string help;
    prometheus::Labels labels;
    std::function<int64_t()> value;
  };
  std::vector<prometheus::MetricFamily> CollectCallbackCounters() const;

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& started_;
  prometheus::Family<prometheus::Counter>& handled_;
  prometheus::Family<prometheus::Counter>& messages_received_;
  prometheus::Family<prometheus::Counter>& messages_sent_;
  prometheus::Family<prometheus::Histogram>& handling_seconds_;
  prometheus::Family<prometheus::Histogram>& queue_seconds_;
  prometheus::Family<prometheus::Counter>& compute_seconds_;
  prometheus::Gauge* in_flight_calls_;
  std::array<prometheus::Counter*, std::size(kRejectReasons)> rejected_calls_;
  std::array<prometheus::Counter*, std::size(kCostClasses)> admitted_calls_;
  prometheus::Counter* evaluation_cells_;
  prometheus::Counter* evaluation_steps_;
  std::vector<CallbackGauge> callback_gauges_;
  std::vector<CallbackCounter> callback_counters_;
};

}  // namespace locus::server
