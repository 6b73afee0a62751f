#include "server/net/address_backoff.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace locus::server {

std::string AddressOf(const std::string& peer) {
  const size_t port = peer.rfind(':');
  absl::string_view host(peer.data(), port == std::string::npos ? 0 : port);
  if (!absl::ConsumePrefix(&host, "ipv6:%5B")) return std::string(host);
  host = host.substr(0, host.find('%'));
  in6_addr address{};
  inet_pton(AF_INET6, std::string(host).c_str(), &address);
  // Clears the last 64 bits.
  std::memset(address.s6_addr + 8, 0, 8);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &address, text, sizeof(text));
  return absl::StrCat("ipv6:", text);
}

void AddressBackoff::OnClosed(const std::string& address,
                              Clock::time_point now) {
  if (entries_.size() >= kMaxAddresses) ForgetSome(now);
  const auto [found, is_new] = entries_.try_emplace(address);
  Entry& entry = found->second;
  const bool is_forgotten = is_new || now - entry.until >= kMaxDelay;
  entry.delay = is_forgotten
                    ? Clock::duration(kFirstDelay)
                    : std::min<Clock::duration>(2 * entry.delay, kMaxDelay);
  entry.until = now + entry.delay;
}

bool AddressBackoff::MayConnect(const std::string& address,
                                Clock::time_point now) {
  const auto found = entries_.find(address);
  return found == entries_.end() || now >= found->second.until;
}

void AddressBackoff::ForgetSome(Clock::time_point now) {
  std::erase_if(entries_, [&](const auto& item) {
    return now - item.second.until >= kMaxDelay;
  });
  if (entries_.size() < kMaxAddresses) return;
  entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                  [](const auto& a, const auto& b) {
                                    return a.second.until < b.second.until;
                                  }));
}

}  // namespace locus::server
