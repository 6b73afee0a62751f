// Serialization of metrics in the OpenMetrics text format, version 1.0.0
// (https://prometheus.io/docs/specs/om/open_metrics_spec/). prometheus-cpp
// writes the older Prometheus text format only.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace locus::server {

std::string SerializeOpenMetrics(
    const std::vector<prometheus::MetricFamily>& families);

}  // namespace locus::server
