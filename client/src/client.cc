#include "locus/client/client.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/base/status_macros.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/channel_arguments.h"
#include "locus/client/security.h"
#include "locus/v1/attention.grpc.pb.h"
#include "locus/v1/encoding.grpc.pb.h"
#include "locus/v1/evaluation.grpc.pb.h"

namespace locus::client {
namespace {

std::string FromTrailers(const grpc::ClientContext& context, const char* key) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(key);
  if (found == trailers.end()) return "";
  return std::string(found->second.data(), found->second.size());
}

std::optional<absl::Duration> Microseconds(const std::string& text) {
  int64_t count = 0;
  if (!absl::SimpleAtoi(text, &count)) return std::nullopt;
  return absl::Microseconds(count);
}

void Record(const grpc::ClientContext& context, int attempts, CallInfo* info) {
  if (info == nullptr) return;
  info->attempts = attempts;
  info->request_id = FromTrailers(context, "x-request-id");
  info->queue_time = Microseconds(FromTrailers(context, "locus-queue-us"));
  info->compute_time = Microseconds(FromTrailers(context, "locus-compute-us"));
}

// Extracts the reason of the operating system from gRPC's message, which wraps
// it in several layers of text.
std::string ReasonOfFailedConnection(const std::string& message) {
  static constexpr char kWrapping[] = "remote host: ";
  const size_t found = message.rfind(kWrapping);
  if (found == std::string::npos) return message;
  return message.substr(found + sizeof(kWrapping) - 1);
}

double Uniform() {
  std::random_device device;
  return std::uniform_real_distribution<double>(0, 1)(device);
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(std::clamp<int64_t>(
      absl::ToInt64Milliseconds(duration), 1, std::numeric_limits<int>::max()));
}

absl::Status CheckOptions(const ClientOptions& options) {
  if (options.timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout: is ", absl::FormatDuration(options.timeout),
                     "; must be positive"));
  }
  if (options.retry.max_attempts < 1) {
    return absl::InvalidArgumentError(absl::StrCat("retry.max_attempts: is ",
                                                   options.retry.max_attempts,
                                                   "; must be at least 1"));
  }
  if (options.keepalive_interval <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "keepalive_interval: must be positive, or infinite for none");
  }
  return absl::OkStatus();
}

}  // namespace

// The stubs of one server address, and the pushback that the server asked for.
class Client::Server {
 public:
  // `has_state` is false for an in-process channel, which has no connectivity
  // state.
  Server(std::string server_address, std::shared_ptr<grpc::Channel> channel,
         bool has_state)
      : address(std::move(server_address)),
        encoding(v1::EncodingService::NewStub(channel)),
        attention(v1::AttentionService::NewStub(channel)),
        evaluation(v1::EvaluationService::NewStub(channel)),
        health(grpc::health::v1::Health::NewStub(channel)),
        channel_(std::move(channel)),
        has_state_(has_state) {}

  // Whether the channel is connecting or has failed to connect.
  bool IsUnconnected() const {
    if (!has_state_) return false;
    const grpc_connectivity_state state = channel_->GetState(false);
    return state == GRPC_CHANNEL_TRANSIENT_FAILURE ||
           state == GRPC_CHANNEL_CONNECTING;
  }

  // Whether the address may resolve to several servers. The pushback of one of
  // them then does not apply to the others.
  bool is_multi_server() const { return absl::StartsWith(address, "dns:"); }

  // Records the delay that the server asked for when it rejected a call.
  void SetPushback(absl::Duration delay) {
    pushback_until_.store(absl::ToUnixMicros(absl::Now() + delay),
                          std::memory_order_relaxed);
  }
  // Returns the remaining delay; zero if the server accepts calls.
  absl::Duration RemainingPushback() const {
    const int64_t until = pushback_until_.load(std::memory_order_relaxed);
    // Without any pushback so far there is no need to read the clock.
    return until == 0 ? absl::ZeroDuration()
                      : std::max(absl::ZeroDuration(),
                                 absl::FromUnixMicros(until) - absl::Now());
  }

  const std::string address;
  const std::unique_ptr<v1::EncodingService::Stub> encoding;
  const std::unique_ptr<v1::AttentionService::Stub> attention;
  const std::unique_ptr<v1::EvaluationService::Stub> evaluation;
  const std::unique_ptr<grpc::health::v1::Health::Stub> health;

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const bool has_state_;
  std::atomic<int64_t> pushback_until_{0};
};

class Client::Impl {
 public:
  // The calls that a server's pushback applies to: all calls of the client, or
  // only the rejected one. Evaluations and health checks use kOwn: evaluations
  // have an admission limit of their own, and health checks are never delayed.
  enum class Pushback { kShared, kOwn };

  explicit Impl(const ClientOptions& options) : options_(options) {}

  // Adds a server. Not thread-safe: call before the first call.
  void Add(const std::string& address, std::shared_ptr<grpc::Channel> channel,
           bool has_state) {
    servers_.push_back(
        std::make_unique<Server>(address, std::move(channel), has_state));
  }

  // Runs `attempt(server, context, response)` until it succeeds, fails with an
  // error that is not retried, or exceeds the deadline. Calls go to the servers
  // in round-robin order, and each retry goes to the next server.
  template <typename Response, typename Attempt>
  absl::StatusOr<Response> Call(const CallOptions& call, Attempt attempt,
                                Pushback pushback = Pushback::kShared) {
    Response response;
    const absl::Status status = Repeat(
        call,
        [&](Server& server, grpc::ClientContext* context, bool* /*final*/) {
          response.Clear();
          return attempt(server, context, &response);
        },
        pushback);
    if (!status.ok()) return status;
    return response;
  }

  // Same as Call(), for `attempt(server, context, final)` functions that store
  // the response themselves. An attempt that sets `*final` is not retried.
  template <typename Attempt>
  absl::Status Repeat(const CallOptions& call, Attempt attempt,
                      Pushback pushback = Pushback::kOwn) {
    const absl::Duration timeout = call.timeout.value_or(options_.timeout);
    const absl::Time deadline = absl::Now() + timeout;
    const bool shared = pushback == Pushback::kShared;
    const size_t first = FirstServer();
    for (int count = 1;; ++count) {
      Server& server = *servers_[(first + count - 1) % servers_.size()];
      if (count == 1 && shared && !WaitForPushback(server, deadline, call)) {
        return call.cancellation != nullptr && call.cancellation->cancelled()
                   ? absl::CancelledError("cancelled by the caller")
                   : absl::UnavailableError(absl::StrCat(
                         server.address,
                         " is overloaded and asked for no calls before the "
                         "deadline"));
      }
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(deadline));
      const CancellationToken::Scope scope(call.cancellation, &context);
      bool final = false;
      const grpc::Status status = attempt(server, &context, &final);
      Record(context, count, call.info);
      if (status.ok()) return absl::OkStatus();
      const absl::Status error = Explain(server, status, context, timeout);
      if (const auto asked = RetryDelay(error);
          asked && shared && !server.is_multi_server()) {
        server.SetPushback(std::min(*asked, options_.retry.max_backoff));
      }
      const bool again = !final && count < options_.retry.max_attempts &&
                         IsRetryable(error, context, call.cancellation);
      const absl::Duration wait =
          again ? WaitBeforeRetry(error, count) : absl::InfiniteDuration();
      if (absl::Now() + wait >= deadline) return error;
      if (call.cancellation == nullptr) {
        absl::SleepFor(wait);
      } else if (call.cancellation->WaitFor(wait)) {
        return absl::CancelledError("cancelled by the caller");
      }
    }
  }

 private:
  // Returns the error of the server if it was reached, and an error about the
  // connection otherwise.
  static absl::Status Explain(const Server& server, const grpc::Status& status,
                              const grpc::ClientContext& context,
                              absl::Duration timeout) {
    const absl::Status error = FromGrpc(status);
    if (!FromTrailers(context, "x-request-id").empty()) return error;
    const bool unconnected = server.IsUnconnected();
    if (absl::IsDeadlineExceeded(error)) {
      return absl::DeadlineExceededError(absl::StrCat(
          unconnected ? "cannot reach " : "no answer from ", server.address,
          unconnected ? ": no connection within " : " within ",
          absl::FormatDuration(timeout)));
    }
    if (absl::IsUnavailable(error) && unconnected) {
      return absl::UnavailableError(
          absl::StrCat("cannot reach ", server.address, ": ",
                       ReasonOfFailedConnection(status.error_message())));
    }
    return error;
  }

  // Returns the index of the next server in round-robin order, skipping servers
  // with a pushback unless all have one.
  size_t FirstServer() {
    const size_t first = next_.fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (servers_[(first + i) % servers_.size()]->RemainingPushback() ==
          absl::ZeroDuration()) {
        return first + i;
      }
    }
    return first;
  }

  // Blocks while the server's pushback lasts: to reject a call costs the server
  // about as much as to serve a small one. Returns false if the pushback
  // exceeds the deadline or the call is cancelled.
  static bool WaitForPushback(const Server& server, absl::Time deadline,
                              const CallOptions& call) {
    const absl::Duration pushback = server.RemainingPushback();
    if (pushback == absl::ZeroDuration()) return true;
    const absl::Duration left = deadline - absl::Now();
    if (pushback >= left) return false;
    // Jitter, so that delayed calls do not all start at the same time.
    const absl::Duration wait = std::min(pushback * (1 + Uniform() / 2),
                                         pushback + (left - pushback) / 2);
    if (call.cancellation != nullptr) return !call.cancellation->WaitFor(wait);
    absl::SleepFor(wait);
    return true;
  }

  // Whether an error may be retried: UNAVAILABLE, or CANCELLED by a server that
  // shuts down, which sends no trailers. A cancellation by the client is final.
  static bool IsRetryable(const absl::Status& error,
                          const grpc::ClientContext& context,
                          CancellationToken* cancellation) {
    if (absl::IsUnavailable(error)) return true;
    return absl::IsCancelled(error) &&
           FromTrailers(context, "x-request-id").empty() &&
           (cancellation == nullptr || !cancellation->cancelled());
  }

  // Returns the delay before the next attempt; zero until every server has been
  // tried.
  absl::Duration WaitBeforeRetry(const absl::Status& error, int count) const {
    if (static_cast<size_t>(count) % servers_.size() != 0) {
      return absl::ZeroDuration();
    }
    return RetryBackoff(options_.retry, count, RetryDelay(error), Uniform());
  }

  const ClientOptions options_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::atomic<size_t> next_{0};
};

grpc::ChannelArguments MakeChannelArguments(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_message_bytes);
  arguments.SetMaxSendMessageSize(options.max_message_bytes);
  // While gRPC backs off from reconnecting, it fails calls without contacting
  // the server. Its backoff is shorter than ours so that no attempt is wasted.
  const int backoff = Milliseconds(options.retry.initial_backoff / 2);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, backoff);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   std::max(backoff, Milliseconds(options.retry.max_backoff)));
  if (options.keepalive_interval < absl::InfiniteDuration()) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                     Milliseconds(options.keepalive_interval));
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return arguments;
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           grpc::ChannelArguments arguments,
                                           const Security& security) {
  if (absl::StartsWith(address, "dns:")) {
    arguments.SetLoadBalancingPolicyName("round_robin");
    if (security.covers_every_call()) {
      arguments.SetServiceConfigJSON(
          R"({"healthCheckConfig":{"serviceName":""}})");
    }
  }
  return security.MakeChannel(address, std::move(arguments));
}

absl::StatusOr<std::vector<std::string>> SplitAddresses(
    const std::string& addresses) {
  std::vector<std::string> split;
  for (const absl::string_view part : absl::StrSplit(addresses, ',')) {
    split.emplace_back(absl::StripAsciiWhitespace(part));
    if (split.back().empty()) {
      return absl::InvalidArgumentError(
          "address: is empty; must be host:port or a comma-separated list");
    }
  }
  return split;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(
    const ClientOptions& options) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                          SplitAddresses(options.address));
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  CLIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const Security> security,
                          Security::Load(options.security));
  auto impl = std::make_unique<Impl>(options);
  for (const std::string& address : addresses) {
    CLIENT_RETURN_IF_ERROR(security->CheckAddress(address));
    impl->Add(address,
              MakeChannel(address, MakeChannelArguments(options), *security),
              /*has_state=*/true);
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::shared_ptr<grpc::Channel> channel,
               const ClientOptions& options)
    : impl_(std::make_unique<Impl>(options)) {
  impl_->Add(options.address, std::move(channel), /*has_state=*/false);
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() = default;

absl::StatusOr<v1::ListSchemesResponse> Client::ListSchemes(
    const v1::ListSchemesRequest& request, const CallOptions& call) {
  return impl_->Call<v1::ListSchemesResponse>(
      call, [&](Server& server, grpc::ClientContext* context,
                v1::ListSchemesResponse* out) {
        return server.encoding->ListSchemes(context, request, out);
      });
}

absl::StatusOr<v1::EncodeResponse> Client::Encode(
    const v1::EncodeRequest& request, const CallOptions& call) {
  return impl_->Call<v1::EncodeResponse>(
      call, [&](Server& server, grpc::ClientContext* context,
                v1::EncodeResponse* out) {
        return server.encoding->Encode(context, request, out);
      });
}

absl::StatusOr<v1::AttendResponse> Client::Attend(
    const v1::AttendRequest& request, const CallOptions& call) {
  return impl_->Call<v1::AttendResponse>(
      call, [&](Server& server, grpc::ClientContext* context,
                v1::AttendResponse* out) {
        return server.attention->Attend(context, request, out);
      });
}

absl::StatusOr<v1::CheckPropertiesResponse> Client::CheckProperties(
    const v1::CheckPropertiesRequest& request, const CallOptions& call) {
  return impl_->Call<v1::CheckPropertiesResponse>(
      call, [&](Server& server, grpc::ClientContext* context,
                v1::CheckPropertiesResponse* out) {
        return server.evaluation->CheckProperties(context, request, out);
      });
}

absl::Status Client::EvaluateExtrapolation(
    const v1::EvaluateExtrapolationRequest& request,
    const EvaluationListener& listener, const CallOptions& call) {
  return impl_->Repeat(
      call, [&](Server& server, grpc::ClientContext* context, bool* final) {
        const auto reader =
            server.evaluation->EvaluateExtrapolation(context, request);
        v1::EvaluateExtrapolationResponse event;
        while (reader->Read(&event)) {
          *final = true;
          if (listener(event)) continue;
          context->TryCancel();
          // Finish() requires that the stream is drained.
          while (reader->Read(&event)) {
          }
        }
        return reader->Finish();
      });
}

absl::StatusOr<ServingStatus> Client::CheckHealth(const std::string& service,
                                                  const CallOptions& call) {
  using grpc::health::v1::HealthCheckResponse;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  const absl::StatusOr<HealthCheckResponse> response =
      impl_->Call<HealthCheckResponse>(
          call,
          [&](Server& server, grpc::ClientContext* context,
              HealthCheckResponse* out) {
            return server.health->Check(context, request, out);
          },
          Impl::Pushback::kOwn);
  if (!response.ok()) return response.status();
  switch (response->status()) {
    case HealthCheckResponse::SERVING:
      return ServingStatus::kServing;
    case HealthCheckResponse::NOT_SERVING:
      return ServingStatus::kNotServing;
    default:
      return ServingStatus::kUnknown;
  }
}

}  // namespace locus::client
