#include "server/rpc/call_metadata.h"

#include <atomic>
#include <random>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace locus::server {
namespace {

constexpr std::chrono::milliseconds kQuestionInterval(1);
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

// SplitMix64's: neighbours have nothing in common.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Threads come and go with calls: to seed a generator for each costs more than
// all its numbers.
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

CallerWatch::CallerWatch(grpc::ServerContext* context) : context_(context) {
  const auto now = Clock::now();
  // Far deadlines would overflow the sum.
  constexpr auto kFar = std::chrono::hours(24 * 365);
  const auto left = context->deadline() - std::chrono::system_clock::now();
  deadline_ = left > kFar
                  ? Clock::time_point::max()
                  : now + std::chrono::duration_cast<Clock::duration>(left);
  next_question_ = now;
}

absl::Status CallerWatch::Check() {
  const auto now = Clock::now();
  if (now >= deadline_) {
    return absl::DeadlineExceededError(
        "the deadline passed before the result was ready");
  }
  // The transport takes one question at a time; whoever comes meanwhile goes
  // by what is known.
  if (std::unique_lock lock(mutex_, std::try_to_lock);
      lock.owns_lock() && now >= next_question_) {
    next_question_ = now + kQuestionInterval;
    if (context_->IsCancelled()) cancelled_ = true;
  }
  if (cancelled_) return absl::CancelledError("the caller went away");
  return absl::OkStatus();
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
