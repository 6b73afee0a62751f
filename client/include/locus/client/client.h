// The C++ client library of Locus.
//
//   absl::Status PrintRotation() {
//     locus::client::ClientOptions options;
//     options.address = "127.0.0.1:50051";
//     auto client = locus::client::Client::Connect(options);
//     if (!client.ok()) return client.status();
//
//     locus::v1::EncodeRequest request;
//     request.mutable_scheme()->mutable_rope()->set_base(500000);
//     request.mutable_positions()->mutable_range()->set_count(16);
//     request.set_dim(64);
//     auto response = (*client)->Encode(request);
//     if (!response.ok()) {
//       for (const auto& [field, description] :
//            locus::client::FieldViolations(response.status())) {
//         std::cerr << field << ": " << description << "\n";
//       }
//       return response.status();
//     }
//     std::cout << response->DebugString();
//     return absl::OkStatus();
//   }
//
// Related headers: locus/client/tensor.h converts arrays to tensors and back,
// locus/client/npy.h reads and writes tensors as .npy files, and
// locus/client/errors.h extracts error details.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/client/cancellation.h"
#include "locus/client/errors.h"
#include "locus/client/retry.h"
#include "locus/client/security.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"
#include "locus/v1/evaluation.pb.h"

namespace grpc {
class Channel;
class ChannelArguments;
}  // namespace grpc

namespace locus::client {

struct ClientOptions {
  // Server address: host:port, or any other name that gRPC resolves, such as
  // unix:/run/locus or dns:///locus:50051. A dns: name may resolve to several
  // servers. A comma-separated list of addresses is also accepted. Calls are
  // distributed over all servers in round-robin order.
  std::string address = "127.0.0.1:50051";
  // Time limit of a call, including all its attempts. CallOptions::timeout
  // overrides it for one call.
  absl::Duration timeout = absl::Seconds(60);
  RetryPolicy retry = {};
  SecurityOptions security = {};
  // Maximum size of a message in either direction; -1 leaves only Protobuf's
  // own limit of 2 GiB. gRPC's default of 4 MiB holds a single head of 16384
  // tokens.
  int max_message_bytes = -1;
  // Interval between keepalive pings on an idle connection; infinite disables
  // them. Servers close connections that ping much more often than every five
  // minutes.
  absl::Duration keepalive_interval = absl::InfiniteDuration();
};

// Metadata of a finished call, filled in on success and on failure.
struct CallInfo {
  int attempts = 0;
  // The remaining fields describe the last attempt, as reported by the server.
  // They are empty or unset if the attempt did not reach a server.
  std::string request_id;
  std::optional<absl::Duration> queue_time;
  std::optional<absl::Duration> compute_time;
};

struct CallOptions {
  // Time limit of this call; unset uses ClientOptions::timeout.
  std::optional<absl::Duration> timeout = std::nullopt;
  // Receives metadata of the call unless null. Not owned.
  CallInfo* info = nullptr;
  // Cancels the call from another thread unless null. The call then returns
  // CANCELLED. Not owned.
  CancellationToken* cancellation = nullptr;
};

enum class ServingStatus { kUnknown, kServing, kNotServing };

// A connection to one server, or to several equivalent servers.
//
// Thread-safe: share one client among all threads, since concurrent calls are
// multiplexed over its connections. Every call blocks until it succeeds, fails
// with an error that is not retried, or exceeds its time limit.
//
// A server that rejects a call may ask the client to back off (gRPC calls this
// pushback). The client applies it to all Encode, Attend, ListSchemes and
// CheckProperties calls: until the delay has passed they go to another server,
// or wait. This does not apply to a dns: address, behind which another server
// may accept the call.
//
// Errors carry the server's code and message (see locus/client/errors.h). If
// the server cannot be reached, the error is UNAVAILABLE, or DEADLINE_EXCEEDED
// if the network drops the connection attempt silently; its message begins with
// "cannot reach <address>".
class Client {
 public:
  // Creates a client. The connection itself is opened by the first call.
  // INVALID_ARGUMENT if an option is invalid or a file of `options.security`
  // cannot be used.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(
      const ClientOptions& options);

  // Creates a client over an existing channel that is assumed to be connected,
  // such as an in-process channel. `options.address` is only used in error
  // messages.
  Client(std::shared_ptr<grpc::Channel> channel, const ClientOptions& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  absl::StatusOr<v1::ListSchemesResponse> ListSchemes(
      const v1::ListSchemesRequest& request = {}, const CallOptions& call = {});
  absl::StatusOr<v1::EncodeResponse> Encode(const v1::EncodeRequest& request,
                                            const CallOptions& call = {});
  absl::StatusOr<v1::AttendResponse> Attend(const v1::AttendRequest& request,
                                            const CallOptions& call = {});
  absl::StatusOr<v1::CheckPropertiesResponse> CheckProperties(
      const v1::CheckPropertiesRequest& request, const CallOptions& call = {});

  // Receives the events of an evaluation, on the calling thread. Returning
  // false cancels the evaluation, and the call returns CANCELLED.
  using EvaluationListener =
      std::function<bool(const v1::EvaluateExtrapolationResponse& event)>;
  // Runs an evaluation and returns when it has ended. The call is not retried
  // once an event has arrived, so the listener sees at most one evaluation.
  absl::Status EvaluateExtrapolation(
      const v1::EvaluateExtrapolationRequest& request,
      const EvaluationListener& listener, const CallOptions& call = {});

  // Returns the health of one service, such as "locus.v1.AttentionService", or
  // of the whole server if `service` is empty. NOT_FOUND if the server has no
  // such service.
  absl::StatusOr<ServingStatus> CheckHealth(const std::string& service,
                                            const CallOptions& call = {});

 private:
  class Server;
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Returns the channel arguments that Client::Connect() uses.
grpc::ChannelArguments MakeChannelArguments(const ClientOptions& options);

// Creates a channel to a single address. If the address is a dns: name of
// several servers, calls are distributed in round-robin order over those whose
// health check reports SERVING.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           grpc::ChannelArguments arguments,
                                           const Security& security);

// Splits a comma-separated list of addresses. INVALID_ARGUMENT if one is empty.
absl::StatusOr<std::vector<std::string>> SplitAddresses(
    const std::string& addresses);

}  // namespace locus::client
