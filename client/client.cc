#include "client/client.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
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
  if (options.address.empty()) {
    return absl::InvalidArgumentError("address: is empty; must be host:port");
  }
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

class Client::Impl {
 public:
  // `has_state`: whether the channel can be asked if it is connected, which
  // one within a process cannot.
  Impl(std::shared_ptr<grpc::Channel> channel, const ClientOptions& options,
       bool has_state)
      : encoding(v1::EncodingService::NewStub(channel)),
        attention(v1::AttentionService::NewStub(channel)),
        evaluation(v1::EvaluationService::NewStub(channel)),
        health(grpc::health::v1::Health::NewStub(channel)),
        channel_(std::move(channel)),
        options_(options),
        has_state_(has_state) {}

  // Runs `attempt` (context, response) until it succeeds, fails for good, or
  // time is up.
  template <typename Response, typename Attempt>
  absl::StatusOr<Response> Call(const CallOptions& call, Attempt attempt) {
    Response response;
    const absl::Status status =
        Repeat(call, [&](grpc::ClientContext* context, bool* /*final*/) {
          response.Clear();
          return attempt(context, &response);
        });
    if (!status.ok()) return status;
    return response;
  }

  // The same for attempts (context, final) that keep what they receive. One
  // that sets `final` is not followed by another.
  template <typename Attempt>
  absl::Status Repeat(const CallOptions& call, Attempt attempt) {
    const absl::Duration timeout = call.timeout.value_or(options_.timeout);
    const absl::Time deadline = absl::Now() + timeout;
    for (int count = 1;; ++count) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(deadline));
      const Canceller::Scope scope(call.canceller, &context);
      bool final = false;
      const grpc::Status status = attempt(&context, &final);
      Record(context, count, call.info);
      if (status.ok()) return absl::OkStatus();
      const absl::Status error = Explain(status, context, timeout);
      const absl::Duration wait =
          final ? absl::InfiniteDuration() : WaitBeforeRetry(error, count);
      if (absl::Now() + wait >= deadline) return error;
      if (call.canceller == nullptr) {
        absl::SleepFor(wait);
      } else if (call.canceller->WaitFor(wait)) {
        return absl::CancelledError("cancelled by the caller");
      }
    }
  }

  const std::unique_ptr<v1::EncodingService::Stub> encoding;
  const std::unique_ptr<v1::AttentionService::Stub> attention;
  const std::unique_ptr<v1::EvaluationService::Stub> evaluation;
  const std::unique_ptr<grpc::health::v1::Health::Stub> health;

 private:
  // The server's own words where it was reached, ours where it was not.
  absl::Status Explain(const grpc::Status& status,
                       const grpc::ClientContext& context,
                       absl::Duration timeout) const {
    const absl::Status error = FromGrpc(status);
    if (!FromTrailers(context, "x-request-id").empty()) return error;
    const bool unconnected = IsUnconnected();
    if (absl::IsDeadlineExceeded(error)) {
      return absl::DeadlineExceededError(absl::StrCat(
          unconnected ? "cannot reach " : "no answer from ", options_.address,
          unconnected ? ": no connection within " : " within ",
          absl::FormatDuration(timeout)));
    }
    if (absl::IsUnavailable(error) && unconnected) {
      return absl::UnavailableError(
          absl::StrCat("cannot reach ", options_.address, ": ",
                       ReasonOfFailedConnection(status.error_message())));
    }
    return error;
  }

  bool IsUnconnected() const {
    if (!has_state_) return false;
    const grpc_connectivity_state state = channel_->GetState(false);
    return state == GRPC_CHANNEL_TRANSIENT_FAILURE ||
           state == GRPC_CHANNEL_CONNECTING;
  }

  // Infinite: do not.
  absl::Duration WaitBeforeRetry(const absl::Status& error, int count) const {
    if (!absl::IsUnavailable(error) || count >= options_.retry.max_attempts) {
      return absl::InfiniteDuration();
    }
    return WaitAfter(options_.retry, count, RetryDelay(error), Uniform());
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const ClientOptions options_;
  const bool has_state_;
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
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return arguments;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(
    const ClientOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  auto impl = std::make_unique<Impl>(
      grpc::CreateCustomChannel(options.address,
                                grpc::InsecureChannelCredentials(),
                                MakeChannelArguments(options)),
      options, /*has_state=*/true);
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::shared_ptr<grpc::Channel> channel,
               const ClientOptions& options)
    : impl_(std::make_unique<Impl>(std::move(channel), options,
                                   /*has_state=*/false)) {}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() = default;

absl::StatusOr<v1::ListSchemesResponse> Client::ListSchemes(
    const v1::ListSchemesRequest& request, const CallOptions& call) {
  return impl_->Call<v1::ListSchemesResponse>(
      call, [&](grpc::ClientContext* context, v1::ListSchemesResponse* out) {
        return impl_->encoding->ListSchemes(context, request, out);
      });
}

absl::StatusOr<v1::EncodeResponse> Client::Encode(
    const v1::EncodeRequest& request, const CallOptions& call) {
  return impl_->Call<v1::EncodeResponse>(
      call, [&](grpc::ClientContext* context, v1::EncodeResponse* out) {
        return impl_->encoding->Encode(context, request, out);
      });
}

absl::StatusOr<v1::AttendResponse> Client::Attend(
    const v1::AttendRequest& request, const CallOptions& call) {
  return impl_->Call<v1::AttendResponse>(
      call, [&](grpc::ClientContext* context, v1::AttendResponse* out) {
        return impl_->attention->Attend(context, request, out);
      });
}

absl::StatusOr<v1::CheckPropertiesResponse> Client::CheckProperties(
    const v1::CheckPropertiesRequest& request, const CallOptions& call) {
  return impl_->Call<v1::CheckPropertiesResponse>(
      call,
      [&](grpc::ClientContext* context, v1::CheckPropertiesResponse* out) {
        return impl_->evaluation->CheckProperties(context, request, out);
      });
}

absl::Status Client::EvaluateExtrapolation(
    const v1::EvaluateExtrapolationRequest& request,
    const EvaluationListener& listener, const CallOptions& call) {
  return impl_->Repeat(call, [&](grpc::ClientContext* context, bool* final) {
    const auto reader =
        impl_->evaluation->EvaluateExtrapolation(context, request);
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
          call, [&](grpc::ClientContext* context, HealthCheckResponse* out) {
            return impl_->health->Check(context, request, out);
          });
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
