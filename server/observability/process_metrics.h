// Metrics of the process, under the standard names of Prometheus clients.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <vector>

namespace locus::server {

// Returns the current memory, CPU time, open files and start time.
std::vector<prometheus::MetricFamily> CollectProcessMetrics();

// Returns the resident memory of the process.
int64_t ResidentBytes();

}  // namespace locus::server
