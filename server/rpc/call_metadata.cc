#include "server/rpc/call_metadata.h"

#include <atomic>
#include <random>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace locus::server {
namespace {

constexpr size_t kMaxRequestIdBytes = 128;

absl::string_view Metadata(const grpc::ServerContext& context,
                           const char* key) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(key);
  if (found == metadata.end()) return "";
  return {found->second.data(), found->second.size()};
}

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) ^ device();
}

// The finaliser of SplitMix64 (Steele et al., 2014): consecutive inputs give
// unrelated outputs.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// 128 random bits, as 32 hexadecimal digits. All threads share one counter,
// because a generator per thread would have to be seeded for each new thread.
std::string RandomId() {
  static const uint64_t process = RandomSeed();
  static std::atomic<uint64_t> next{RandomSeed()};
  const uint64_t number = next.fetch_add(0x9e3779b97f4a7c15u);
  return absl::StrCat(absl::Hex(Mix(process ^ number), absl::kZeroPad16),
                      absl::Hex(Mix(number), absl::kZeroPad16));
}

bool IsLowerHex(absl::string_view text) {
  return absl::c_all_of(text, [](char c) {
    return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
  });
}

bool IsZero(absl::string_view text) {
  return absl::c_all_of(text, [](char c) { return c == '0'; });
}

}  // namespace

int64_t MetadataBytes(const grpc::ServerContextBase& context) {
  constexpr size_t kFieldBytes = 32;
  size_t bytes = 0;
  for (const auto& [key, value] : context.client_metadata()) {
    bytes += key.size() + value.size() + kFieldBytes;
  }
  return static_cast<int64_t>(bytes);
}

std::string RequestIdOf(const grpc::ServerContext& context) {
  const absl::string_view given = Metadata(context, "x-request-id");
  return IsRequestId(given) ? std::string(given) : RandomId();
}

bool IsRequestId(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxRequestIdBytes &&
         absl::c_all_of(text, absl::ascii_isgraph);
}

std::string TraceparentOf(const grpc::ServerContext& context) {
  const absl::string_view given = Metadata(context, "traceparent");
  return IsTraceparent(given) ? std::string(given) : std::string();
}

// version-trace-parent-flags, as 2, 32, 16 and 2 hexadecimal digits.
bool IsTraceparent(absl::string_view text) {
  if (text.size() != 55 || text[2] != '-' || text[35] != '-' ||
      text[52] != '-') {
    return false;
  }
  const absl::string_view version = text.substr(0, 2);
  const absl::string_view trace = text.substr(3, 32);
  const absl::string_view parent = text.substr(36, 16);
  const absl::string_view flags = text.substr(53, 2);
  return IsLowerHex(version) && version != "ff" && IsLowerHex(trace) &&
         !IsZero(trace) && IsLowerHex(parent) && !IsZero(parent) &&
         IsLowerHex(flags);
}

}  // namespace locus::server
