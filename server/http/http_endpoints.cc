#include "server/http/http_endpoints.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/base/clock.h"
#include "server/http/http_response.h"

namespace locus::server {
namespace {

// Min interval of renderings, so that they use a small part of one CPU however
// many requests arrive.
constexpr std::chrono::milliseconds kMinRenderInterval(10);

// A type of an Accept header.
struct AcceptedType {
  std::string type;     // in lower case
  std::string version;  // of a parameter; empty if there is none
  double quality = 1;
};

AcceptedType ParseAcceptedType(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ';');
  AcceptedType accepted;
  accepted.type =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(parts.front()));
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> parameter =
        absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    const auto name = absl::StripAsciiWhitespace(parameter.first);
    const auto value = absl::StripAsciiWhitespace(parameter.second);
    if (absl::EqualsIgnoreCase(name, "version")) {
      accepted.version = std::string(value);
    } else if (absl::EqualsIgnoreCase(name, "q") &&
               !absl::SimpleAtod(value, &accepted.quality)) {
      accepted.quality = 0;
    }
  }
  return accepted;
}

absl::string_view ContentType(MetricsFormat format) {
  return format == MetricsFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

// Collects requests for /metrics and answers them together. Used on the loop's
// thread only.
class MetricsEndpoint : public std::enable_shared_from_this<MetricsEndpoint> {
 public:
  MetricsEndpoint(std::function<std::string(MetricsFormat)> render,
                  std::shared_ptr<EventLoop> loop)
      : render_(std::move(render)), loop_(std::move(loop)) {}

  void Add(MetricsFormat format, std::shared_ptr<HttpResponseWriter> writer) {
    waiting_.push_back({format, std::move(writer)});
    if (scheduled_) return;
    scheduled_ = true;
    const auto earliest = last_rendering_ + kMinRenderInterval;
    const auto now = Clock::now();
    if (now >= earliest) {
      // After the requests that have arrived already.
      loop_->Post([self = shared_from_this()] { self->RespondToAll(); });
      return;
    }
    // The timer ends with the endpoint's last request at the latest.
    timer_ = std::make_unique<EventTimer>(loop_.get());
    timer_->Start(earliest - now,
                  [self = shared_from_this()] { self->RespondToAll(); });
  }

 private:
  struct Waiting {
    MetricsFormat format;
    std::shared_ptr<HttpResponseWriter> writer;
  };

  void RespondToAll() {
    scheduled_ = false;
    for (const MetricsFormat format :
         {MetricsFormat::kPrometheus, MetricsFormat::kOpenMetrics}) {
      std::optional<std::string> text;
      for (const Waiting& one : waiting_) {
        if (one.format != format) continue;
        if (!text.has_value()) text = render_(format);
        HttpResponse response = HttpTextResponse(200, *text);
        response.content_type = std::string(ContentType(format));
        response.headers.emplace_back("Vary", "Accept");
        one.writer->Send(std::move(response));
      }
    }
    waiting_.clear();
    last_rendering_ = Clock::now();
  }

  const std::function<std::string(MetricsFormat)> render_;
  const std::shared_ptr<EventLoop> loop_;
  std::vector<Waiting> waiting_;
  std::unique_ptr<EventTimer> timer_;
  bool scheduled_ = false;
  Clock::time_point last_rendering_;
};

HttpResponse TokenRequired() {
  HttpResponse response =
      HttpTextResponse(401, "a valid bearer token is required\n");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpRoute Probe(std::function<bool()> succeeds) {
  HttpRoute route;
  route.without_client_certificate = true;
  route.handler = [succeeds = std::move(succeeds)](
                      const HttpRequest&,
                      const std::shared_ptr<HttpResponseWriter>& writer) {
    writer->Send(succeeds() ? HttpTextResponse(200, "ok\n")
                            : HttpTextResponse(503, "draining\n"));
  };
  return route;
}

}  // namespace

MetricsFormat ChooseMetricsFormat(absl::string_view accept) {
  double open_metrics = 0;
  double text = 0;
  for (const absl::string_view one : absl::StrSplit(accept, ',')) {
    const AcceptedType accepted = ParseAcceptedType(one);
    if (accepted.type == "application/openmetrics-text" &&
        (accepted.version.empty() || accepted.version == "1.0.0" ||
         accepted.version == "0.0.1")) {
      open_metrics = std::max(open_metrics, accepted.quality);
    } else if (accepted.type == "text/plain") {
      text = std::max(text, accepted.quality);
    }
  }
  return open_metrics > 0 && open_metrics >= text ? MetricsFormat::kOpenMetrics
                                                  : MetricsFormat::kPrometheus;
}

void AddOperatorEndpoints(const HttpContent& content,
                          const std::shared_ptr<EventLoop>& loop,
                          HttpRouter* router) {
  HttpRoute metrics;
  if (content.auth != nullptr) {
    metrics.check =
        [auth = content.auth](
            const HttpRequest& request) -> std::optional<HttpResponse> {
      const AuthVerdict verdict =
          auth->CheckMetrics(request.Header("Authorization"));
      if (verdict == AuthVerdict::kAllowed) return std::nullopt;
      return TokenRequired();
    };
  }
  metrics.handler =
      [endpoint = std::make_shared<MetricsEndpoint>(content.metrics, loop)](
          const HttpRequest& request,
          std::shared_ptr<HttpResponseWriter> writer) {
        endpoint->Add(ChooseMetricsFormat(request.Header("Accept")),
                      std::move(writer));
      };
  router->Add("/metrics", std::move(metrics));
  router->Add("/livez", Probe([] { return true; }));
  router->Add("/healthz", Probe([] { return true; }));
  router->Add("/readyz", Probe(content.is_ready));
}

}  // namespace locus::server
