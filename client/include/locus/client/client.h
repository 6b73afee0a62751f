// The client library of Locus: the contract, spoken from C++.
//
//   auto client = locus::client::Client::Connect({.address =
//   "127.0.0.1:50051"}); if (!client.ok()) return client.status();
//
//   locus::v1::EncodeRequest request;
//   request.mutable_scheme()->mutable_rope()->set_base(500000);
//   request.mutable_positions()->mutable_range()->set_count(16);
//   request.set_dim(64);
//   absl::StatusOr<locus::v1::EncodeResponse> response =
//       (*client)->Encode(request);
//   if (!response.ok()) {
//     for (const auto& violation : FieldViolations(response.status())) {
//       std::cerr << violation.field << ": " << violation.description << "\n";
//     }
//   }
//
// locus/client/tensor.h makes tensors of arrays and reads them back, locus/client/npy.h
// reads and writes them as files, locus/client/errors.h looks into errors.
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
  // host:port, or any other name that gRPC resolves, such as unix:/run/locus or
  // dns:///locus:50051, which may stand for several servers; or a list of them
  // with commas. Calls go to all in turn.
  std::string address = "127.0.0.1:50051";
  // How long a call may take with all its attempts; CallOptions can say
  // otherwise for one call.
  absl::Duration timeout = absl::Seconds(60);
  RetryPolicy retry = {};
  SecurityOptions security = {};
  // The largest message, either way; -1: no limit but Protobuf's own 2 GiB.
  // gRPC's default of 4 MiB is a single head of 16384 tokens.
  int max_message_bytes = -1;
  // How often an idle connection is probed; infinite: never. Servers hang up
  // on clients that probe much more often than every five minutes.
  absl::Duration keepalive_interval = absl::InfiniteDuration();
};

// How a call went. Filled in whether it succeeds or fails.
struct CallInfo {
  int attempts = 0;
  // Of the last attempt, as the server reports it; empty or unset if no server
  // was reached.
  std::string request_id;
  std::optional<absl::Duration> queue_time;
  std::optional<absl::Duration> compute_time;
};

struct CallOptions {
  // Unset: the client's.
  std::optional<absl::Duration> timeout = std::nullopt;
  // Filled in unless null.
  CallInfo* info = nullptr;
  // Ends the call from outside unless null; the call is then CANCELLED.
  Canceller* canceller = nullptr;
};

enum class ServingStatus { kUnknown, kServing, kNotServing };

// A connection to one server, or to several that are alike. Thread-safe: share
// one among all threads, since calls run over it side by side. Calls block
// until they succeed, fail for good, or run out of time; nothing hangs. What a
// server asks for when it refuses a call holds for all: until then the client
// goes to another server, or waits.
//
// Errors have the server's code and message (see locus/client/errors.h). A server
// that is not there is UNAVAILABLE or, if the network swallows the attempt,
// DEADLINE_EXCEEDED, with a message that begins "cannot reach <address>".
class Client {
 public:
  // Opens the connection with the first call, not before. INVALID_ARGUMENT if
  // an option makes no sense, or a file of `security` cannot be used.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(
      const ClientOptions& options);

  // Over a channel that exists, such as one to a server in this process, and is
  // taken to be connected. `options.address` is only used in messages.
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

  // Hears of an evaluation, on the thread that called. False ends the call,
  // which is then CANCELLED.
  using EvaluationListener =
      std::function<bool(const v1::EvaluateExtrapolationResponse& event)>;
  // Returns when the evaluation has ended. Once an event has arrived, a failure
  // is final: an evaluation is not begun twice.
  absl::Status EvaluateExtrapolation(
      const v1::EvaluateExtrapolationRequest& request,
      const EvaluationListener& listener, const CallOptions& call = {});

  // Of one service, such as "locus.v1.AttentionService"; empty: of all.
  // NOT_FOUND if the server has no such service.
  absl::StatusOr<ServingStatus> CheckHealth(const std::string& service,
                                            const CallOptions& call = {});

 private:
  class Server;
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// The arguments with which Connect makes its channels.
grpc::ChannelArguments MakeChannelArguments(const ClientOptions& options);

// A channel to one address, without commas. Several servers may have one name
// (dns:): calls then go in turn to all that say they serve.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           grpc::ChannelArguments arguments,
                                           const Security& security);

// The addresses of a list with commas. INVALID_ARGUMENT if one is empty.
absl::StatusOr<std::vector<std::string>> SplitAddresses(
    const std::string& addresses);

}  // namespace locus::client
