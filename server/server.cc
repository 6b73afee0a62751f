#include "server/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "server/base/allocator.h"
#include "server/config/system_resources.h"
#include "server/config/validate.h"
#include "server/evaluation/executor.h"
#include "server/evaluation/runner.h"
#include "server/http/event_loop.h"
#include "server/http/http_endpoints.h"
#include "server/http/http_server.h"
#include "server/http/openmetrics.h"
#include "server/net/authentication.h"
#include "server/net/credentials.h"
#include "server/net/delayed_close.h"
#include "server/net/listener.h"
#include "server/net/tls.h"
#include "server/observability/log.h"
#include "server/rpc/health.h"
#include "server/rpc/reflection.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/server_state.h"
#include "server/services/attention_service.h"
#include "server/services/encoding_service.h"
#include "server/services/evaluation_service.h"

namespace locus::server {
namespace {

// Max duration of a handshake; gRPC's default is two minutes.
constexpr int kHandshakeMilliseconds = 20'000;
// Idle time after which a connection is probed with a ping; gRPC's default is
// two hours.
constexpr int kKeepaliveMilliseconds = 120'000;
// Min interval of pings from clients.
constexpr int kMinPingMilliseconds = 10'000;
// Time between the last call and the end of a drain. During this time responses
// are sent, Watch streams end, and calls that clients sent before they received
// GOAWAY are rejected with UNAVAILABLE.
constexpr std::chrono::milliseconds kDrainTail(1000);
// Time for gRPC to cancel the remaining calls and to tell their clients, before
// all connections are closed.
constexpr std::chrono::milliseconds kCloseDelay(300);

// Threads that must be available once the server's own threads and those of
// gRPC exist: for ports, and for threads that gRPC adds while it runs.
constexpr int kMinFreeThreads = 16;

// Returns the max number of threads that gRPC creates when it starts: an event
// engine with a thread per processor, timers, executors, and the synchronous
// server. gRPC aborts or hangs if it cannot create them.
int GrpcStartThreads() {
  constexpr long kMaxEventEngineThreads = 32;
  return 8 + static_cast<int>(std::min(sysconf(_SC_NPROCESSORS_CONF),
                                       kMaxEventEngineThreads));
}

// Settings of the whole process.
void PrepareProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    PrepareAllocator();
#ifdef NDEBUG
    // Debian builds abseil with deadlock detection, which looks up every lock
    // that gRPC takes in a graph of all locks, with a stack trace. Release
    // builds disable it.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
    // Logs of gRPC and protobuf are not JSON, and contain peers and paths.
    gpr_set_log_function([](gpr_log_func_args*) {});
    google::protobuf::SetLogHandler(nullptr);
  });
}

// Returns the max number of threads that the server creates: compute threads of
// calls and of evaluations, workers, pollers, evaluations, listener, HTTP and
// file watchers.
int OwnThreads(const ServerOptions& options) {
  return 6 * options.threads + 2 * options.max_evaluations + 8;
}

// Sets a time limit of gRPC, which is in milliseconds. 0 means no limit.
void SetSeconds(const char* argument, double seconds,
                grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(
      argument, seconds == 0 ? std::numeric_limits<int>::max()
                             : static_cast<int>(std::max(1.0, seconds * 1000)));
}

std::vector<const Method*> MethodsOf(
    std::initializer_list<const Service*> services) {
  std::vector<const Method*> methods;
  for (const Service* const service : services) {
    for (const Method& method : service->methods()) methods.push_back(&method);
  }
  return methods;
}

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& resolved, MakeEvaluation make_evaluation)
      : state_(resolved),
        executor_(resolved.threads, resolved.max_evaluations,
                  resolved.background_evaluations
                      ? EvaluationExecutor::Priority::kLowest
                      : EvaluationExecutor::Priority::kNormal),
        encoding_(&state_),
        attention_(&state_),
        evaluation_(&state_, &executor_, std::move(make_evaluation)),
        health_({"", EncodingService::kName, AttentionService::kName,
                 EvaluationService::kName},
                &state_.connections),
        reflection_({EncodingService::kName, AttentionService::kName,
                     EvaluationService::kName, Health::kName}),
        rpc_(&state_, MethodsOf({&encoding_, &attention_, &evaluation_})) {
    state_.metrics.AddGauge(
        "locus_deferred_calls",
        "Calls queued with their message unread until there is capacity.",
        [this] { return rpc_.scheduler().deferred(); });
    for (const CostClass cost_class : kCostClasses) {
      const prometheus::Labels labels = {
          {"cost_class", std::string(NameOf(cost_class))}};
      state_.metrics.AddGauge(
          "locus_queued_calls", "Calls that wait for a worker.",
          [this, cost_class] { return rpc_.scheduler().ready(cost_class); },
          labels);
      state_.metrics.AddGauge(
          "locus_computing_calls", "Calls that compute.",
          [this, cost_class] { return rpc_.scheduler().computing(cost_class); },
          labels);
    }
    state_.metrics.AddGauge("locus_slots", "Compute slots.",
                            [this] { return state_.options.threads; });
    state_.metrics.AddGauge(
        "locus_memory_reserved_bytes", "Memory that calls have reserved.",
        [this] { return static_cast<double>(state_.budget.reserved_bytes()); });
    state_.metrics.AddGauge(
        "locus_memory_budget_bytes", "Memory that calls may reserve.",
        [this] { return static_cast<double>(state_.budget.budget_bytes()); });
    state_.metrics.AddGauge("locus_evaluations_in_progress",
                            "Running evaluations.",
                            [this] { return executor_.running(); });
    const char* const open_streams =
        "Open streams of health watches and of server reflection.";
    state_.metrics.AddGauge("locus_open_streams", open_streams,
                            [this] { return health_.open_watches(); },
                            {{"service", Health::kName}});
    state_.metrics.AddGauge("locus_open_streams", open_streams,
                            [this] { return reflection_.open_streams(); },
                            {{"service", "grpc.reflection"}});
    state_.metrics.AddCounter(
        "locus_log_lines_dropped_total",
        "Log lines lost because standard error was blocked, full or closed.",
        DroppedLogLines);
  }
  ~Impl() { Shutdown(); }

  // The threads come first: the constructor and StartGrpc() create nearly all
  // of them, and StartListening() binds the port and reports SERVING only if
  // there can be more.
  absl::Status Start() {
    LOCUS_RETURN_IF_ERROR(OpenTls());
    LOCUS_RETURN_IF_ERROR(OpenTokens());
    LOCUS_RETURN_IF_ERROR(StartGrpc());
    LOCUS_RETURN_IF_ERROR(CheckThreadsAvailable(kMinFreeThreads));
    LOCUS_RETURN_IF_ERROR(StartListening());
    return StartHttp();
  }

  int grpc_port() const { return listener_ == nullptr ? 0 : listener_->port(); }
  int http_port() const { return http_ == nullptr ? 0 : http_->port(); }

  std::shared_ptr<grpc::Channel> InProcessChannel(
      const grpc::ChannelArguments& arguments) {
    return server_->InProcessChannel(arguments);
  }

  void Shutdown() {
    std::call_once(shutdown_once_, [this] {
      if (server_ != nullptr) Drain();
    });
  }

 private:
  absl::Status StartGrpc() {
    const ServerOptions& options = state_.options;
    grpc::ServerBuilder builder;
    builder.RegisterService(&health_);
    reflection_.Register(&builder);
    if (!options.listen.empty()) {
      credentials_ = MakeServerCredentials(tls_.get(), auth_.get());
      acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::
              FROM_FD,
          credentials_);
    }
    SetLimits(&builder);
    rpc_.Register(&builder);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return absl::InternalError("gRPC cannot start the server");
    }
    health_.Start(rpc_.first_queue());
    reflection_.Start(rpc_.first_queue());
    rpc_.Start();
    return absl::OkStatus();
  }

  // Opens the certificates of both ports. An error ends the start: if TLS or
  // tokens are configured but cannot be set up, the server does not run.
  absl::Status OpenTls() {
    const ServerOptions& options = state_.options;
    if (options.tls_cert.empty()) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(
        tls_, TlsStore::Open(
                  {options.tls_cert, options.tls_key, options.tls_client_ca}));
    state_.metrics.AddGauge(
        "locus_tls_certificate_not_after_seconds",
        "Expiry of the server's certificate, in seconds since 1970.", [this] {
          return static_cast<double>(tls_->Current()->not_after_seconds);
        });
    return absl::OkStatus();
  }

  // Binds the address, if there is one, reports SERVING, and accepts
  // connections.
  absl::Status StartListening() {
    const ServerOptions& options = state_.options;
    if (!options.listen.empty()) {
      LOCUS_ASSIGN_OR_RETURN(
          listener_, Listener::Bind(options.listen, options.max_connections));
      AddConnectionMetrics();
    }
    health_.SetServing(true);
    if (listener_ != nullptr) {
      const auto accept = [this](int listening, int connection) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            parameters;
        parameters.listener_fd = listening;
        parameters.fd = connection;
        acceptor_->HandleNewConnection(&parameters);
      };
      listener_->Start(accept, &state_.connections);
    }
    return absl::OkStatus();
  }

  void AddConnectionMetrics() {
    Metrics& metrics = state_.metrics;
    metrics.AddGauge("locus_connections", "Open connections.",
                     [this] { return listener_->open_connections(); });
    metrics.AddCounter("locus_connections_accepted_total",
                       "Connections accepted.",
                       [this] { return listener_->accepted_connections(); });
    metrics.AddCounter(
        "locus_connections_rejected_total",
        "Connections closed because --max-connections was reached.",
        [this] { return listener_->rejected_connections(); });
    for (const CloseReason reason : kCloseReasons) {
      metrics.AddCounter(
          "locus_connections_closed_total",
          "Connections closed because of what their peers sent.",
          [this, reason] { return state_.connections.closed(reason); },
          {{"reason", std::string(NameOf(reason))}});
    }
  }

  absl::Status OpenTokens() {
    const ServerOptions& options = state_.options;
    if (options.auth_tokens.empty()) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(const AuthExemptions exemptions,
                           ParseAuthExemptions(options.auth_exempt));
    LOCUS_ASSIGN_OR_RETURN(
        auth_, Authenticator::Open(options.auth_tokens, exemptions));
    for (const auto& [verdict, reason] :
         {std::pair{AuthVerdict::kMissing, "missing"},
          std::pair{AuthVerdict::kWrong, "wrong"}}) {
      state_.metrics.AddCounter(
          "locus_unauthenticated_calls_total",
          "Calls and scrapes rejected for lack of a valid token.",
          [this, verdict = verdict] { return auth_->rejected(verdict); },
          {{"reason", reason}});
    }
    return absl::OkStatus();
  }

  void SetLimits(grpc::ServerBuilder* builder) const {
    const ServerOptions& options = state_.options;
    builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                                options.max_streams);
    // Bounds the bytes that a rejected call has sent. gRPC opens the window for
    // the whole message once the message is read.
    builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                                kUnreadWindowBytes);
    builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                                static_cast<int>(options.max_metadata_bytes));
    builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                                kHandshakeMilliseconds);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                                kKeepaliveMilliseconds);
    // Clients may send pings on idle connections.
    builder->AddChannelArgument(
        GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
        kMinPingMilliseconds);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    SetSeconds(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
               options.max_connection_idle_seconds, builder);
    SetSeconds(GRPC_ARG_MAX_CONNECTION_AGE_MS,
               options.max_connection_age_seconds, builder);
    builder->SetMaxReceiveMessageSize(
        static_cast<int>(options.max_message_bytes));
    builder->SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
    // gRPC decompresses a message before it checks the size. Tensors hardly
    // compress, so all compressed requests are rejected.
    builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    grpc::ResourceQuota quota("locusd");
    // Limits the bytes of messages that gRPC has received and not delivered.
    quota.Resize(options.memory_budget_bytes);
    builder->SetResourceQuota(quota);
  }

  absl::Status StartHttp() {
    if (state_.options.http.empty()) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<EventLoop> loop,
                           EventLoop::Start());
    HttpRouter router;
    AddOperatorEndpoints(
        {.metrics =
             [this](MetricsFormat format) {
               return format == MetricsFormat::kOpenMetrics
                          ? SerializeOpenMetrics(state_.metrics.Collect())
                          : state_.metrics.Text();
             },
         .is_ready = [this] { return !state_.drain.draining; },
         .auth = auth_.get()},
        loop, &router);
    LOCUS_ASSIGN_OR_RETURN(
        http_, HttpServer::Start(
                   loop, {.address = state_.options.http, .tls = tls_.get()},
                   std::move(router)));
    return absl::OkStatus();
  }

  // Waits for calls in flight with the server's own counter, because gRPC's
  // Shutdown() would also wait for Watch streams of health, which do not end.
  void Drain() {
    state_.drain.draining = true;
    rpc_.scheduler().StartDraining();
    health_.SetServing(false);
    reflection_.Drain();
    const auto grace = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(state_.options.grace_seconds));
    const auto start = std::chrono::steady_clock::now();
    state_.drain.evaluations_end = StopBefore(start + grace, start);
    // Deferred calls are rejected; calls in flight are finished.
    rpc_.scheduler().WaitForNoneDeferred(start + grace);
    const bool done = state_.drain.calls.WaitForNone(start + grace);
    if (listener_ != nullptr) listener_->Stop();
    const auto tail = done ? kDrainTail : std::chrono::milliseconds(0);
    {
      const DelayedClose closing(listener_.get(), tail + kCloseDelay);
      server_->Shutdown(std::chrono::system_clock::now() + tail);
      server_->Wait();
    }
    rpc_.Shutdown();
    LogCallsNotLogged(state_.call_log);
  }

  ServerState state_;
  EvaluationExecutor executor_;
  EncodingService encoding_;
  AttentionService attention_;
  EvaluationService evaluation_;
  Health health_;
  Reflection reflection_;  // outlives the pollers
  RpcServer rpc_;
  std::unique_ptr<TlsStore> tls_;
  std::unique_ptr<Authenticator> auth_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  // Uses tls_ and auth_, and is used by server_: the order of these members
  // matters.
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::Server> server_;
  std::once_flag shutdown_once_;
  // Declared last, so that it is destroyed before the members it uses. It
  // serves during a drain, because ~Impl() drains first.
  std::unique_ptr<HttpServer> http_;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options) {
  return Start(options, MakeCoreEvaluation);
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options, MakeEvaluation make_evaluation) {
  LOCUS_RETURN_IF_ERROR(Validate(options));
  PrepareProcess();
  const ServerOptions resolved = WithDefaults(options);
  // Before anything starts gRPC, which hangs if it lacks threads.
  LOCUS_RETURN_IF_ERROR(CheckThreadsAvailable(
      OwnThreads(resolved) + GrpcStartThreads() + kMinFreeThreads));
  try {
    auto impl = std::make_unique<Impl>(resolved, std::move(make_evaluation));
    LOCUS_RETURN_IF_ERROR(impl->Start());
    return std::unique_ptr<Server>(new Server(std::move(impl)));
  } catch (const std::system_error& error) {
    return ThreadCreationError(error);
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

int Server::grpc_port() const { return impl_->grpc_port(); }
int Server::http_port() const { return impl_->http_port(); }

std::shared_ptr<grpc::Channel> Server::InProcessChannel(
    const grpc::ChannelArguments& arguments) {
  return impl_->InProcessChannel(arguments);
}

void Server::Shutdown() { impl_->Shutdown(); }

}  // namespace locus::server
