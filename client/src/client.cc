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
#include "locus/client/security.h"
#include "client/base/status_macros.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/channel_arguments.h"
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

// gRPC wraps the system's reason in several layers of its own.
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

// One server that calls may go to.
class Client::Server {
 public:
  // `has_state`: whether the channel can be asked if it is connected, which
  // one within a process cannot.
  Server(std::string server_address, std::shared_ptr<grpc::Channel> channel,
         bool has_state)
      : address(std::move(server_address)),
        encoding(v1::EncodingService::NewStub(channel)),
        attention(v1::AttentionService::NewStub(channel)),
        evaluation(v1::EvaluationService::NewStub(channel)),
        health(grpc::health::v1::Health::NewStub(channel)),
        channel_(std::move(channel)),
        has_state_(has_state) {}

  bool IsUnconnected() const {
    if (!has_state_) return false;
    const grpc_connectivity_state state = channel_->GetState(false);
    return state == GRPC_CHANNEL_TRANSIENT_FAILURE ||
           state == GRPC_CHANNEL_CONNECTING;
  }

  // Whether the name may stand for several servers, of which one asks.
  bool is_many() const { return absl::StartsWith(address, "dns:"); }

  // What the server asked for when it refused a call; others keep it, too.
  void RestFor(absl::Duration time) {
    rest_until_.store(absl::ToUnixMicros(absl::Now() + time),
                      std::memory_order_relaxed);
  }
  // How long from now.
  absl::Duration rest() const {
    const int64_t until = rest_until_.load(std::memory_order_relaxed);
    // Most calls need no clock.
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
  std::atomic<int64_t> rest_until_{0};
};

class Client::Impl {
 public:
  // Whether a server's wish to be left alone for a while is heeded by all such
  // calls, or by the one that was refused: an evaluation is refused for reasons
  // of its own, and health is worth knowing at any time.
  enum class Pushback { kShared, kOwn };

  explicit Impl(const ClientOptions& options) : options_(options) {}

  // Before the first call.
  void Add(const std::string& address, std::shared_ptr<grpc::Channel> channel,
           bool has_state) {
    servers_.push_back(
        std::make_unique<Server>(address, std::move(channel), has_state));
  }

  // Runs `attempt` (server, context, response) until it succeeds, fails for
  // good, or time is up. Calls go to the servers in turn, and another attempt
  // goes to another server.
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

  // The same for attempts (server, context, final) that keep what they receive.
  // One that sets `final` is not followed by another.
  template <typename Attempt>
  absl::Status Repeat(const CallOptions& call, Attempt attempt,
                      Pushback pushback = Pushback::kOwn) {
    const absl::Duration timeout = call.timeout.value_or(options_.timeout);
    const absl::Time deadline = absl::Now() + timeout;
    const bool shared = pushback == Pushback::kShared;
    const size_t first = FirstServer();
    for (int count = 1;; ++count) {
      Server& server = *servers_[(first + count - 1) % servers_.size()];
      if (count == 1 && shared && !WaitWhileResting(server, deadline, call)) {
        return call.canceller != nullptr && call.canceller->cancelled()
                   ? absl::CancelledError("cancelled by the caller")
                   : absl::UnavailableError(absl::StrCat(
                         server.address,
                         " is busy and asked to be left alone until after the "
                         "deadline"));
      }
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(deadline));
      const Canceller::Scope scope(call.canceller, &context);
      bool final = false;
      const grpc::Status status = attempt(server, &context, &final);
      Record(context, count, call.info);
      if (status.ok()) return absl::OkStatus();
      const absl::Status error = Explain(server, status, context, timeout);
      if (const auto asked = RetryDelay(error);
          asked && shared && !server.is_many()) {
        server.RestFor(std::min(*asked, options_.retry.max_backoff));
      }
      const bool again = !final && count < options_.retry.max_attempts &&
                         IsWorthAnother(error, context, call.canceller);
      const absl::Duration wait =
          again ? WaitBeforeRetry(error, count) : absl::InfiniteDuration();
      if (absl::Now() + wait >= deadline) return error;
      if (call.canceller == nullptr) {
        absl::SleepFor(wait);
      } else if (call.canceller->WaitFor(wait)) {
        return absl::CancelledError("cancelled by the caller");
      }
    }
  }

 private:
  // The server's own words where it was reached, ours where it was not.
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

  // The next in turn that does not rest, or the next.
  size_t FirstServer() {
    const size_t first = next_.fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (servers_[(first + i) % servers_.size()]->rest() ==
          absl::ZeroDuration()) {
        return first + i;
      }
    }
    return first;
  }

  // A refusal costs the server about as much as a small call: who was refused
  // asks nothing else of it meanwhile. False if there is not enough time.
  static bool WaitWhileResting(const Server& server, absl::Time deadline,
                               const CallOptions& call) {
    const absl::Duration rest = server.rest();
    if (rest == absl::ZeroDuration()) return true;
    // Spread out, so that not all come back at the same moment.
    const absl::Duration left = deadline - absl::Now();
    if (rest >= left) return false;
    const absl::Duration wait =
        std::min(rest * (1 + Uniform() / 2), rest + (left - rest) / 2);
    if (call.canceller != nullptr) return !call.canceller->WaitFor(wait);
    absl::SleepFor(wait);
    return true;
  }

  // A server that goes away cancels what it has not begun, and says nothing
  // more; whoever cancels here wants no other attempt.
  static bool IsWorthAnother(const absl::Status& error,
                             const grpc::ClientContext& context,
                             Canceller* canceller) {
    if (absl::IsUnavailable(error)) return true;
    return absl::IsCancelled(error) &&
           FromTrailers(context, "x-request-id").empty() &&
           (canceller == nullptr || !canceller->cancelled());
  }

  // Another server need not be waited for, until all have been asked.
  absl::Duration WaitBeforeRetry(const absl::Status& error, int count) const {
    if (static_cast<size_t>(count) % servers_.size() != 0) {
      return absl::ZeroDuration();
    }
    return WaitAfter(options_.retry, count, RetryDelay(error), Uniform());
  }

  const ClientOptions options_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::atomic<size_t> next_{0};
};

grpc::ChannelArguments MakeChannelArguments(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_message_bytes);
  arguments.SetMaxSendMessageSize(options.max_message_bytes);
  // gRPC answers from memory until it is willing to connect again, which would
  // waste our attempts.
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
          "address: is empty; must be host:port, or several with commas");
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
          // What is under way has to be drained before the status is known.
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
