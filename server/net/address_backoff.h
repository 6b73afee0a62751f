// Exponential backoff for addresses whose connections were closed.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "server/base/clock.h"

namespace locus::server {

// Returns the address without the port of a peer in gRPC's form:
// "ipv4:192.0.2.1" for "ipv4:192.0.2.1:80". Of an IPv6 address, only the first
// 64 bits, because a host usually owns all addresses below them:
// "ipv6:2001:db8:0:1" for "ipv6:%5B2001:db8:0:1::7%5D:80".
std::string AddressOf(const std::string& peer);

// Tells which addresses may open connections. After the first closure, an
// address may open none for kFirstDelay. The delay doubles with each further
// closure, up to kMaxDelay. Closures are forgotten after kMaxDelay without a
// closure, counted from the end of the last delay. Not thread-safe; the caller
// passes the time.
class AddressBackoff {
 public:
  static constexpr std::chrono::seconds kFirstDelay{1};
  static constexpr std::chrono::seconds kMaxDelay{64};
  // Max addresses that are remembered, about 2 MiB. The oldest are forgotten.
  static constexpr size_t kMaxAddresses = 10'000;

  void OnClosed(const std::string& address, Clock::time_point now);
  bool MayConnect(const std::string& address, Clock::time_point now);

  size_t address_count() const { return entries_.size(); }

 private:
  struct Entry {
    Clock::duration delay{};
    Clock::time_point until{};
  };
  void ForgetSome(Clock::time_point now);

  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace locus::server
