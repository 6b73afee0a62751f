// The process's own figures, under the names every Prometheus client uses.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <vector>

namespace locus::server {

// Memory, processor time, open files and start time, read from /proc now.
std::vector<prometheus::MetricFamily> CollectProcessMetrics();

// The memory the process holds.
int64_t ResidentBytes();

}  // namespace locus::server
