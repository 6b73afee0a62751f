// What Prometheus is told.
//
// Names follow the grpc-ecosystem where it has one, and begin with locus_
// otherwise. Every handle is made once, at start: looking one up takes a lock.
// No label takes a string of a caller's.
#pragma once

#include <grpcpp/support/status_code_enum.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/admission/concurrency_limiter.h"
#include "server/rpc/status.h"

namespace locus::server {

inline constexpr int kGrpcCodeCount = 17;

// "OK", "INVALID_ARGUMENT" and so on.
absl::string_view NameOf(grpc::StatusCode code);

enum class MethodType { kUnary, kServerStream };

// The handles of one RPC.
struct MethodMetrics {
  prometheus::Counter* started;
  std::array<prometheus::Counter*, kGrpcCodeCount> handled;  // by code
  prometheus::Counter* messages_received;
  prometheus::Counter* messages_sent;
  prometheus::Histogram* handling_seconds;
  prometheus::Histogram* queue_seconds;
  prometheus::Counter* compute_seconds;
};

// Thread-safe once every method is added.
class Metrics {
 public:
  explicit Metrics(absl::string_view version);

  // `service` is a full name, such as locus.v1.EncodingService.
  MethodMetrics AddMethod(absl::string_view service, absl::string_view method,
                          MethodType type);

  prometheus::Gauge& in_flight_calls() { return *in_flight_calls_; }
  prometheus::Counter& shed_calls(ShedReason reason) {
    return *shed_calls_[static_cast<size_t>(reason)];
  }

  prometheus::Counter& admitted_calls(Lane lane) {
    return *admitted_calls_[static_cast<size_t>(lane)];
  }

  prometheus::Counter& evaluation_cells() { return *evaluation_cells_; }
  prometheus::Counter& evaluation_steps() { return *evaluation_steps_; }

  // A gauge whose value is asked for when it is read. Those of one name have
  // one help.
  void AddGauge(absl::string_view name, absl::string_view help,
                std::function<double()> value,
                const prometheus::Labels& labels = {});

  // The same for a count that only grows. Those of one name follow each other.
  void AddCounter(absl::string_view name, absl::string_view help,
                  std::function<int64_t()> value,
                  const prometheus::Labels& labels = {});

  // Everything in the text format, the process's own figures included.
  std::string Text() const;

 private:
  struct AskedGauge {
    prometheus::Gauge* gauge;
    std::function<double()> value;
  };

  struct AskedCounter {
    std::string name;
    std::string help;
    prometheus::Labels labels;
    std::function<int64_t()> value;
  };
  std::vector<prometheus::MetricFamily> CollectAskedCounters() const;

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& started_;
  prometheus::Family<prometheus::Counter>& handled_;
  prometheus::Family<prometheus::Counter>& messages_received_;
  prometheus::Family<prometheus::Counter>& messages_sent_;
  prometheus::Family<prometheus::Histogram>& handling_seconds_;
  prometheus::Family<prometheus::Histogram>& queue_seconds_;
  prometheus::Family<prometheus::Counter>& compute_seconds_;
  prometheus::Gauge* in_flight_calls_;
  std::array<prometheus::Counter*, std::size(kShedReasons)> shed_calls_;
  std::array<prometheus::Counter*, std::size(kLanes)> admitted_calls_;
  prometheus::Counter* evaluation_cells_;
  prometheus::Counter* evaluation_steps_;
  std::vector<AskedGauge> asked_gauges_;
  std::vector<AskedCounter> asked_counters_;
};

}  // namespace locus::server
