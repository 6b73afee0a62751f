#include "server/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "server/base/allocator.h"
#include "server/services/attention_service.h"
#include "server/net/authentication.h"
#include "server/net/credentials.h"
#include "server/services/encoding_service.h"
#include "server/evaluation/runner.h"
#include "server/services/evaluation_service.h"
#include "server/admission/controller.h"
#include "server/rpc/health.h"
#include "server/http/http_server.h"
#include "server/net/listener.h"
#include "server/rpc/server_state.h"
#include "server/net/tls.h"
#include "server/config/validate.h"

namespace locus::server {
namespace {

// Threads beyond those of evaluations: enough for evaluations that are refused,
// and for the few streams that hold one (reflection). Where they do not
// suffice, gRPC answers RESOURCE_EXHAUSTED itself, which tells nobody to come
// back.
constexpr int kSpareThreads = 1024;
// What a call may send before it is let in; more takes another round trip. With
// HTTP/2's usual 64 KiB, storms of calls of 192 KiB spent on what was thrown
// away (`./run storm --case attend`: 89 % of the peak at ten times its rate
// instead of 102, medians of five).
constexpr int kUnreadBytes = 16'384;
// How long a connection may take for its handshake, and when a peer that is
// silent is asked whether it is still there: gRPC would wait for two minutes
// and two hours.
constexpr int kHandshakeMilliseconds = 20'000;
constexpr int kKeepaliveMilliseconds = 120'000;
constexpr int kLeastPingMilliseconds = 10'000;
// What Watch streams, answers on their way out and requests on their way in get
// once calls are done: who sent one before it heard that we go is still told
// to go elsewhere.
constexpr std::chrono::milliseconds kLastBytes(1000);
constexpr std::chrono::milliseconds kLookAtHeld(5);

// Switches that hold for the whole process.
void PrepareProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    PrepareAllocator();
#ifdef NDEBUG
    // Debian's abseil is a debug build: every lock that gRPC takes is looked up
    // in a graph of all locks, with a stack trace. Releases can do
    // without.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
    // gRPC's lines and those of protobuf would stand between ours, and name
    // peers and paths.
    gpr_set_log_function([](gpr_log_func_args*) {});
    google::protobuf::SetLogHandler(nullptr);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

// gRPC counts these in milliseconds and has a default of its own; 0 is never.
void SetSeconds(const char* argument, double seconds,
                grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(
      argument, seconds == 0 ? std::numeric_limits<int>::max()
                             : static_cast<int>(std::max(1.0, seconds * 1000)));
}

std::vector<const UnaryMethod*> UnaryMethods(
    std::initializer_list<const Service*> services) {
  std::vector<const UnaryMethod*> methods;
  for (const Service* const service : services) {
    for (const UnaryMethod& method : service->unary_methods()) {
      methods.push_back(&method);
    }
  }
  return methods;
}

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& resolved, MakeEvaluation make_evaluation)
      : state_(resolved),
        encoding_(&state_),
        attention_(&state_),
        evaluation_(&state_, std::move(make_evaluation)),
        health_({"", EncodingService::kName, AttentionService::kName,
                 EvaluationService::kName}),
        front_(&state_, UnaryMethods({&encoding_, &attention_, &evaluation_})) {
    state_.metrics.AddGauge(
        "locus_held_calls",
        "Calls held unread until there is a place for them.",
        [this] { return front_.held(); });
    for (const Lane lane : kLanes) {
      const prometheus::Labels labels = {{"lane", std::string(NameOf(lane))}};
      state_.metrics.AddGauge(
          "locus_queued_calls", "Calls waiting for a slot.",
          [this, lane] { return state_.gate.queued(lane); }, labels);
      state_.metrics.AddGauge(
          "locus_computing_calls", "Calls that have a slot.",
          [this, lane] { return state_.gate.computing(lane); }, labels);
    }
    state_.metrics.AddGauge("locus_slots",
                            "Calls of a lane that may compute at once.",
                            [this] { return state_.options.threads; });
    state_.metrics.AddGauge(
        "locus_memory_reserved_bytes", "Memory reserved by calls.",
        [this] { return static_cast<double>(state_.budget.reserved_bytes()); });
    state_.metrics.AddGauge(
        "locus_memory_budget_bytes", "Memory that calls may reserve.",
        [this] { return static_cast<double>(state_.budget.budget_bytes()); });
    state_.metrics.AddGauge("locus_evaluations_in_progress",
                            "Evaluations that run.",
                            [this] { return state_.background.running(); });
  }
  ~Impl() { Shutdown(); }

  absl::Status Start() {
    LOCUS_RETURN_IF_ERROR(OpenTokens());
    LOCUS_RETURN_IF_ERROR(StartGrpc());
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
    builder.RegisterService(&encoding_);
    builder.RegisterService(&attention_);
    builder.RegisterService(&evaluation_);
    builder.RegisterService(&health_);
    if (!options.listen.empty()) {
      LOCUS_RETURN_IF_ERROR(PrepareListening());
      acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::
              FROM_FD,
          credentials_);
    }
    SetLimits(&builder);
    front_.AddQueues(&builder);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return absl::InternalError("gRPC cannot start a server");
    }
    health_.Start(front_.first_queue());
    front_.Start();
    health_.SetServing(true);
    if (listener_ != nullptr) {
      listener_->Start([this](int listening, int connection) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            parameters;
        parameters.listener_fd = listening;
        parameters.fd = connection;
        acceptor_->HandleNewConnection(&parameters);
      });
    }
    return absl::OkStatus();
  }

  // Whatever is wrong with the address, a certificate or the tokens ends the
  // start: nothing is ever served with less than was asked for.
  absl::Status PrepareListening() {
    const ServerOptions& options = state_.options;
    if (!options.tls_cert.empty()) {
      LOCUS_ASSIGN_OR_RETURN(tls_,
                             TlsStore::Open({options.tls_cert, options.tls_key,
                                             options.tls_client_ca}));
    }
    credentials_ = MakeServerCredentials(tls_.get(), auth_.get());
    LOCUS_ASSIGN_OR_RETURN(
        listener_, Listener::Bind(options.listen, options.max_connections));
    AddConnectionMetrics();
    return absl::OkStatus();
  }

  void AddConnectionMetrics() {
    Metrics& metrics = state_.metrics;
    metrics.AddGauge("locus_connections", "Connections that are open.",
                     [this] { return listener_->open_connections(); });
    metrics.AddCounter("locus_connections_accepted_total",
                       "Connections that were let in.",
                       [this] { return listener_->accepted_connections(); });
    metrics.AddCounter(
        "locus_connections_refused_total",
        "Connections that were hung up on since there were too many.",
        [this] { return listener_->refused_connections(); });
    if (tls_ == nullptr) return;
    metrics.AddGauge(
        "locus_tls_certificate_not_after_seconds",
        "When the server's certificate ends, in seconds since 1970.", [this] {
          return static_cast<double>(tls_->Current()->not_after_seconds);
        });
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
          "Calls and scrapes refused for want of a valid token.",
          [this, verdict = verdict] { return auth_->refused(verdict); },
          {{"reason", reason}});
    }
    return absl::OkStatus();
  }

  void SetLimits(grpc::ServerBuilder* builder) const {
    const ServerOptions& options = state_.options;
    builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                                options.max_streams);
    // Whoever is turned away has not sent more than this of its message. Once a
    // message is read, all of it is asked for.
    builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                                kUnreadBytes);
    builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                                static_cast<int>(options.max_metadata_bytes));
    builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                                kHandshakeMilliseconds);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                                kKeepaliveMilliseconds);
    // Clients may ask whether we are there, however long we have said nothing.
    builder->AddChannelArgument(
        GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
        kLeastPingMilliseconds);
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    SetSeconds(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
               options.max_connection_idle_seconds, builder);
    SetSeconds(GRPC_ARG_MAX_CONNECTION_AGE_MS,
               options.max_connection_age_seconds, builder);
    builder->SetMaxReceiveMessageSize(
        static_cast<int>(options.max_message_bytes));
    builder->SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
    // gRPC inflates a message before it looks at the size. Tensors hardly
    // compress, so compressed requests are refused altogether.
    builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    grpc::ResourceQuota quota("locusd");
    // Bytes of messages that no handler has seen yet count here.
    quota.Resize(options.memory_budget_bytes);
    quota.SetMaxThreads(options.max_evaluations + kSpareThreads);
    builder->SetResourceQuota(quota);
    // gRPC's own threads are for streams alone, and few at a time.
    builder->SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS,
                                 1);
  }

  absl::Status StartHttp() {
    if (state_.options.http.empty()) return absl::OkStatus();
    auto http =
        HttpServer::Start(state_.options.http,
                          {.metrics = [this] { return state_.metrics.Text(); },
                           .is_ready = [this] { return !state_.draining; },
                           .auth = auth_.get()});
    if (!http.ok()) return http.status();
    http_ = *std::move(http);
    return absl::OkStatus();
  }

  // Calls in flight are ours to count: gRPC would also wait for Watch streams,
  // which never end by themselves.
  void Drain() {
    state_.draining = true;
    health_.SetServing(false);
    const auto grace = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(state_.options.grace_seconds));
    const auto start = std::chrono::steady_clock::now();
    state_.evaluations_end = StopBefore(start + grace, start);
    // Who is held is turned away; the rest is done.
    while (front_.held() > 0 &&
           std::chrono::steady_clock::now() < start + grace) {
      std::this_thread::sleep_for(kLookAtHeld);
    }
    const bool done = state_.calls.WaitForNone(start + grace);
    if (listener_ != nullptr) listener_->Stop();
    const auto now = std::chrono::system_clock::now();
    server_->Shutdown(done ? now + kLastBytes : now);
    server_->Wait();
    front_.Shutdown();
  }

  ServerState state_;
  EncodingService encoding_;
  AttentionService attention_;
  EvaluationService evaluation_;
  Health health_;
  Front front_;
  std::unique_ptr<TlsStore> tls_;
  std::unique_ptr<Authenticator> auth_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  // After what it uses, and as long as the server uses it.
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::Server> server_;
  std::once_flag shutdown_once_;
  // Last, so that it answers until everything else is gone.
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
  auto impl =
      std::make_unique<Impl>(WithDefaults(options), std::move(make_evaluation));
  LOCUS_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
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
