// The endpoints for operators: /metrics, /livez, /healthz and /readyz.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/http/event_loop.h"
#include "server/http/http_router.h"
#include "server/net/authentication.h"

namespace locus::server {

// The Prometheus text format, version 0.0.4, or OpenMetrics 1.0.0.
enum class MetricsFormat { kPrometheus, kOpenMetrics };

// Returns the format that the value of an Accept header prefers. The Prometheus
// text format if it has no preference.
MetricsFormat ChooseMetricsFormat(absl::string_view accept);

// Content of the endpoints. The functions run on the server's thread.
struct HttpContent {
  // Returns the metrics in a format.
  std::function<std::string(MetricsFormat)> metrics;
  // Returns whether /readyz succeeds.
  std::function<bool()> is_ready;
  // Checks the token of requests for /metrics; null if none is needed. The
  // probes never need one. Must outlive the server.
  const Authenticator* auth = nullptr;
};

// Adds the endpoints. Rendering the metrics is expensive, so requests that
// arrive within a few milliseconds share one rendering, which is always newer
// than the requests.
void AddOperatorEndpoints(const HttpContent& content,
                          const std::shared_ptr<EventLoop>& loop,
                          HttpRouter* router);

}  // namespace locus::server
