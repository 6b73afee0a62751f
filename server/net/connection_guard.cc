#include "server/net/connection_guard.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/admission/rejection.h"

namespace locus::server {
namespace {

// Responses that a peer leaves unread may hold this share of the memory budget.
constexpr int64_t kBacklogShare = 4;

int64_t WithOverhead(int64_t message_bytes) {
  return message_bytes +
         message_bytes / ConnectionGuard::kMessagePerOverheadByte;
}

}  // namespace

absl::string_view NameOf(CloseReason reason) {
  switch (reason) {
    case CloseReason::kResets:
      return "resets";
    case CloseReason::kStreams:
      return "streams";
    case CloseReason::kMetadata:
      return "metadata";
    case CloseReason::kBytes:
      return "bytes";
    case CloseReason::kMemory:
      return "memory";
    case CloseReason::kBackoff:
      return "backoff";
  }
  return "";
}

GuardedConnection::GuardedConnection(std::string peer,
                                     int64_t max_backlog_bytes,
                                     Clock::time_point now)
    : peer_(std::move(peer)),
      max_backlog_bytes_(max_backlog_bytes),
      resets_allowed_(ConnectionGuard::kResetsPerSecond,
                      ConnectionGuard::kResetBurst, now),
      checked_at_(now) {}

void GuardedConnection::OnCallArrived(int64_t metadata_bytes) {
  ++arrived_;
  metadata_bytes_ += metadata_bytes;
  // A lost update does no harm: one such call in a while suffices.
  if (metadata_bytes > max_metadata_bytes_) {
    max_metadata_bytes_ = metadata_bytes;
  }
  ++open_calls_;
}

void GuardedConnection::OnCallEnded(CallEnd end, Clock::duration age) {
  --open_calls_;
  if (end == CallEnd::kUnknownMethod ||
      (end == CallEnd::kCancelled && age < ConnectionGuard::kRapidResetAge)) {
    ++resets_;
  }
}

void GuardedConnection::OnReadEnded(std::optional<int64_t> message_bytes) {
  // Counts the end first, so that TakeReports() never misses a read.
  ++reads_ended_;
  if (message_bytes) {
    message_bytes_ += *message_bytes;
  } else {
    ++reads_failed_;
  }
  --reading_;
}

absl::Status GuardedConnection::CheckBacklog() const {
  const int64_t backlog = backlog_bytes_;
  if (backlog <= max_backlog_bytes_) return absl::OkStatus();
  return Reject(RejectReason::kMemory,
                absl::StrCat("this connection has ", backlog,
                             " bytes of responses unread; at most ",
                             max_backlog_bytes_, " are kept for it"));
}

GuardedConnection::Reports GuardedConnection::TakeReports() {
  Reports reports;
  reports.reading = reading_;
  reports.reads_ended = reads_ended_.exchange(0);
  reports.reads_failed = reads_failed_.exchange(0);
  reports.message_bytes = message_bytes_.exchange(0);
  reports.arrived = arrived_.exchange(0);
  reports.metadata_bytes = metadata_bytes_.exchange(0);
  reports.max_metadata_bytes = max_metadata_bytes_.exchange(0);
  reports.resets = resets_.exchange(0);
  reports.open_calls = open_calls_;
  return reports;
}

ConnectionGuard::ConnectionGuard(const Limits& limits,
                                 const MemoryBudget* budget)
    : limits_(limits),
      budget_(*budget),
      unguarded_(std::make_shared<GuardedConnection>(
          "", std::numeric_limits<int64_t>::max(), Clock::time_point())) {}

std::shared_ptr<GuardedConnection> ConnectionGuard::Add(std::string peer,
                                                        Clock::time_point now) {
  auto connection = std::make_shared<GuardedConnection>(
      std::move(peer), budget_.budget_bytes() / kBacklogShare, now);
  const MutexLock lock(&mutex_);
  std::shared_ptr<GuardedConnection>& slot = connections_[connection->peer()];
  if (slot != nullptr) total_unaccounted_bytes_ -= slot->unaccounted_bytes_;
  slot = connection;
  return connection;
}

bool ConnectionGuard::MayConnect(const std::string& peer,
                                 Clock::time_point now) {
  const MutexLock lock(&mutex_);
  if (backoff_.MayConnect(AddressOf(peer), now)) return true;
  ++closed_[static_cast<size_t>(CloseReason::kBackoff)];
  return false;
}

void ConnectionGuard::Remove(const GuardedConnection& connection) {
  const MutexLock lock(&mutex_);
  const auto found = connections_.find(connection.peer());
  if (found == connections_.end() || found->second.get() != &connection) return;
  total_unaccounted_bytes_ -= connection.unaccounted_bytes_;
  connections_.erase(found);
}

std::shared_ptr<GuardedConnection> ConnectionGuard::Find(
    const std::string& peer) const {
  const MutexLock lock(&mutex_);
  const auto found = connections_.find(peer);
  return found == connections_.end() ? unguarded_ : found->second;
}

int64_t ConnectionGuard::AllowedBytes(int64_t reads) const {
  // Unread data of calls in gRPC's queue, which have not been reported yet.
  const int64_t calls = limits_.max_streams * limits_.unread_bytes;
  const int64_t messages =
      std::min(reads * limits_.message_bytes, budget_.budget_bytes());
  return kFreeBytes + calls + WithOverhead(messages);
}

std::optional<CloseReason> ConnectionGuard::Check(
    GuardedConnection& connection, const GuardedConnection::Reports& reports,
    const SocketBytes& bytes, Clock::time_point now) {
  const MutexLock lock(&mutex_);
  if (connection.is_closing_) return std::nullopt;
  const double seconds = SecondsBetween(connection.checked_at_, now);
  const int64_t explained =
      reports.metadata_bytes +
      reports.arrived * (limits_.unread_bytes + kCallBytes) +
      WithOverhead(reports.message_bytes) +
      (bytes.sent - connection.sent_bytes_) / kSentPerControlByte +
      static_cast<int64_t>(seconds * kFreeBytesPerSecond);
  const int64_t unexplained =
      bytes.received - connection.received_bytes_ - explained;
  const int64_t before = connection.unaccounted_bytes_;
  int64_t unaccounted = std::max<int64_t>(0, before + unexplained);
  // gRPC frees the partial message of a call that has ended.
  unaccounted -= std::min(
      unaccounted, WithOverhead(reports.reads_failed * limits_.message_bytes));
  connection.checked_at_ = now;
  connection.received_bytes_ = bytes.received;
  connection.sent_bytes_ = bytes.sent;
  connection.unaccounted_bytes_ = unaccounted;
  connection.suspect_bytes_ =
      std::max<int64_t>(0, connection.suspect_bytes_ + unexplained);
  total_unaccounted_bytes_ += unaccounted - before;

  std::optional<CloseReason> reason;
  // gRPC rejects calls with too much metadata itself, unless the peer has not
  // acknowledged the limit. The same is true of too many calls.
  if (reports.max_metadata_bytes > limits_.metadata_bytes) {
    reason = CloseReason::kMetadata;
  }
  if (reports.open_calls > limits_.max_streams + kExcessStreams) {
    reason = CloseReason::kStreams;
  }
  for (int64_t i = 0; i < reports.resets; ++i) {
    if (connection.resets_allowed_.Take(now)) continue;
    reason = CloseReason::kResets;
    break;
  }
  if (unaccounted > AllowedBytes(reports.reading + reports.reads_ended)) {
    reason = CloseReason::kBytes;
  }
  if (reason) {
    OnClosing(connection, *reason);
    // Not for resets, which an honest client of an overloaded server may cause,
    // or a proxy in the name of one of its clients.
    if (*reason == CloseReason::kBytes) {
      backoff_.OnClosed(AddressOf(connection.peer()), now);
    }
  }
  return reason;
}

void ConnectionGuard::OnClosing(GuardedConnection& connection,
                                CloseReason reason) {
  connection.is_closing_ = true;
  ++closed_[static_cast<size_t>(reason)];
  trims_left_ = kTrimsAfterClose;
}

std::shared_ptr<GuardedConnection> ConnectionGuard::CheckMemory(
    int64_t resident_bytes, Clock::time_point now) {
  const MutexLock lock(&mutex_);
  const int64_t budget = budget_.budget_bytes();
  if (total_unaccounted_bytes_ <= WithOverhead(budget) &&
      resident_bytes <= budget + budget / 2 + kResidentSlackBytes) {
    return nullptr;
  }
  if (memory_closed_at_ && now - *memory_closed_at_ < kMemoryClosePause) {
    return nullptr;
  }
  std::shared_ptr<GuardedConnection> largest;
  for (const auto& [peer, connection] : connections_) {
    if (!connection->is_closing_ &&
        connection->suspect_bytes_ >= (largest == nullptr
                                           ? kMinMemoryCloseBytes
                                           : largest->suspect_bytes_)) {
      largest = connection;
    }
  }
  if (largest == nullptr) return nullptr;
  memory_closed_at_ = now;
  OnClosing(*largest, CloseReason::kMemory);
  return largest;
}

bool ConnectionGuard::ShouldTrim(int64_t resident_bytes,
                                 Clock::time_point now) {
  const MutexLock lock(&mutex_);
  if (now - trimmed_at_ < kTrimInterval) return false;
  if (trims_left_ > 0) --trims_left_;
  trimmed_at_ = now;
  return resident_bytes > budget_.reserved_bytes() + kTrimExcessBytes;
}

bool ConnectionGuard::expects_freed_memory() const {
  const MutexLock lock(&mutex_);
  return trims_left_ > 0;
}

int64_t ConnectionGuard::unaccounted_bytes(
    const GuardedConnection& connection) const {
  const MutexLock lock(&mutex_);
  return connection.unaccounted_bytes_;
}

}  // namespace locus::server
