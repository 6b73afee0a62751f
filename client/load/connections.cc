#include "client/load/connections.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "locus/client/client.h"

namespace locus::client::load {

absl::StatusOr<std::vector<std::shared_ptr<grpc::Channel>>> OpenConnections(
    const std::string& addresses, int count, int64_t timeout_nanos,
    const SecurityOptions& options) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<std::string> servers,
                          SplitAddresses(addresses));
  CLIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const Security> security,
                          Security::Load(options));
  for (const std::string& server : servers) {
    CLIENT_RETURN_IF_ERROR(security->CheckAddress(server));
  }
  grpc::ChannelArguments arguments = MakeChannelArguments({});
  // By default, all channels of a process to the same address share one
  // connection through a global subchannel pool.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Failed calls are counted, so gRPC must not retry them.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  count = std::max(count, static_cast<int>(servers.size()));
  for (int i = 0; i < count; ++i) {
    channels.push_back(
        MakeChannel(servers[i % servers.size()], arguments, *security));
    // Starts connecting, so that all channels connect in parallel.
    channels.back()->GetState(/*try_to_connect=*/true);
  }
  const auto deadline = std::chrono::system_clock::now() +
                        std::chrono::nanoseconds(timeout_nanos);
  for (int i = 0; i < count; ++i) {
    if (!channels[i]->WaitForConnected(deadline)) {
      return absl::UnavailableError(
          absl::StrCat("cannot reach ", servers[i % servers.size()], ": ", i,
                       " of ", count, " connections were established in time"));
    }
  }
  return channels;
}

}  // namespace locus::client::load
