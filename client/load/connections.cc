#include "client/load/connections.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "locus/client/client.h"
#include "client/base/status_macros.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"

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
  // Channels to one address share their connection through a pool that belongs
  // to the process, unless each has a pool of its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A call that fails is to be counted, not hidden.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  count = std::max(count, static_cast<int>(servers.size()));
  for (int i = 0; i < count; ++i) {
    channels.push_back(
        MakeChannel(servers[i % servers.size()], arguments, *security));
    // All connect at the same time.
    channels.back()->GetState(/*try_to_connect=*/true);
  }
  const auto deadline = std::chrono::system_clock::now() +
                        std::chrono::nanoseconds(timeout_nanos);
  for (int i = 0; i < count; ++i) {
    if (!channels[i]->WaitForConnected(deadline)) {
      return absl::UnavailableError(
          absl::StrCat("cannot reach ", servers[i % servers.size()], ": ", i,
                       " of ", count, " connections could be made in time"));
    }
  }
  return channels;
}

}  // namespace locus::client::load
