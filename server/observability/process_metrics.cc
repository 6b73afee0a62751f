#include "server/observability/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <utility>

namespace locus::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Make(const char* name, const char* help, MetricType type,
                  double value) {
  ClientMetric metric;
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  family.metric.push_back(std::move(metric));
  return family;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OpenFiles() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  int count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count - 3;  // `.`, `..`, and the directory itself
}

// Initialised when the program is loaded, which is close to the start of the
// process.
const double start_seconds =
    std::chrono::duration<double>(
        std::chrono::system_clock::now().time_since_epoch())
        .count();

}  // namespace

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

std::vector<MetricFamily> CollectProcessMetrics() {
  std::vector<MetricFamily> families;
  families.push_back(Make("process_resident_memory_bytes",
                          "Resident memory in bytes.", MetricType::Gauge,
                          static_cast<double>(ResidentBytes())));
  families.push_back(Make("process_cpu_seconds_total",
                          "User and system CPU time in seconds.",
                          MetricType::Counter, CpuSeconds()));
  families.push_back(Make("process_open_fds", "Open file descriptors.",
                          MetricType::Gauge, OpenFiles()));
  families.push_back(Make("process_start_time_seconds",
                          "Start time of the process, in seconds since 1970.",
                          MetricType::Gauge, start_seconds));
  return families;
}

}  // namespace locus::server
