// Decides which connections to close because of what their peers send.
//
// gRPC 1.51 accepts streams that are opened and reset without limit, endless
// header blocks, and peers that never acknowledge SETTINGS and so evade the
// limits announced there. It checks the size of a message only when the whole
// message has arrived. The guard compares the bytes that the socket of a
// connection has received with what the calls of that connection have reported,
// and closes connections whose bytes are not explained by calls
// (docs/adr/0016-connection-guard.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"
#include "server/admission/memory_budget.h"
#include "server/admission/token_bucket.h"
#include "server/base/clock.h"
#include "server/net/address_backoff.h"

namespace locus::server {

// Why a connection was closed. Label of locus_connections_closed_total.
enum class CloseReason {
  kResets,    // calls that were cancelled at once, or had an unknown method
  kStreams,   // more concurrent calls than --max-streams
  kMetadata,  // more metadata in a call than --max-metadata-bytes
  kBytes,     // received bytes that no call explains
  kMemory,    // the process, or all connections together, used too much memory
  kBackoff,   // a new connection of an address after such a closure
};
inline constexpr CloseReason kCloseReasons[] = {
    CloseReason::kResets, CloseReason::kStreams, CloseReason::kMetadata,
    CloseReason::kBytes,  CloseReason::kMemory,  CloseReason::kBackoff};
// "resets", "streams", "metadata", "bytes", "memory" or "backoff".
absl::string_view NameOf(CloseReason reason);

// How a call ended.
enum class CallEnd { kAnswered, kCancelled, kUnknownMethod };

// Reports of the calls of one connection, and the state of its checks. The
// On...() functions and CheckBacklog() are thread-safe and lock-free.
class GuardedConnection {
 public:
  GuardedConnection(std::string peer, int64_t max_backlog_bytes,
                    Clock::time_point now);

  const std::string& peer() const { return peer_; }

  // Call OnCallArrived() once for each call, with the size of its metadata as
  // HTTP/2 counts it, and OnCallEnded() once for each call that has arrived,
  // with the time since its arrival.
  void OnCallArrived(int64_t metadata_bytes);
  void OnCallEnded(CallEnd end, Clock::duration age);
  // Call OnReadStarted() before gRPC is asked for the message of a call, and
  // OnReadEnded() once it has arrived, with its size. No value means that the
  // call ended before its message was complete.
  void OnReadStarted() { ++reading_; }
  void OnReadEnded(std::optional<int64_t> message_bytes);

  // Call OnResponseQueued() before gRPC is given a response, and
  // OnResponseSent() with the same size when gRPC has sent or dropped it.
  void OnResponseQueued(int64_t bytes) { backlog_bytes_ += bytes; }
  void OnResponseSent(int64_t bytes) { backlog_bytes_ -= bytes; }
  int64_t backlog_bytes() const { return backlog_bytes_; }
  // Bytes that the peer has received, as of the last check.
  int64_t acked_bytes() const { return sent_bytes_; }
  // UNAVAILABLE if the peer leaves so many bytes of responses unread that its
  // further calls may reserve no memory.
  absl::Status CheckBacklog() const;

  // Reports since the last call of TakeReports().
  struct Reports {
    int64_t arrived = 0;
    int64_t metadata_bytes = 0;
    int64_t max_metadata_bytes = 0;  // of one call
    int64_t resets = 0;
    int64_t message_bytes = 0;
    int64_t reads_ended = 0;
    int64_t reads_failed = 0;  // part of reads_ended
    int64_t reading = 0;       // now
    int64_t open_calls = 0;    // now
  };
  Reports TakeReports();

 private:
  friend class ConnectionGuard;

  const std::string peer_;
  const int64_t max_backlog_bytes_;
  std::atomic<int64_t> arrived_{0};
  std::atomic<int64_t> metadata_bytes_{0};
  std::atomic<int64_t> max_metadata_bytes_{0};
  std::atomic<int64_t> resets_{0};
  std::atomic<int64_t> message_bytes_{0};
  std::atomic<int64_t> reads_ended_{0};
  std::atomic<int64_t> reads_failed_{0};
  std::atomic<int64_t> reading_{0};
  std::atomic<int64_t> open_calls_{0};
  std::atomic<int64_t> backlog_bytes_{0};

  // State of the checks, guarded by ConnectionGuard::mutex_.
  TokenBucket resets_allowed_;
  Clock::time_point checked_at_;
  int64_t received_bytes_ = 0;
  std::atomic<int64_t> sent_bytes_{0};
  int64_t unaccounted_bytes_ = 0;
  // Same as unaccounted_bytes_, but not reduced when a message is abandoned: a
  // peer can abandon messages in order to hide other bytes.
  int64_t suspect_bytes_ = 0;
  bool is_closing_ = false;
};

// The policy. It has neither sockets nor a clock: the caller passes the time
// and the byte counts, and closes the connections. Thread-safe.
class ConnectionGuard {
 public:
  // Calls that may be cancelled within kRapidResetAge of their arrival, or have
  // an unknown method: per second in the long run, and at once after a quiet
  // time. Clients of an overloaded server cancel about a thousand calls per
  // second on a connection, because calls wait in the client for one of
  // --max-streams, and have little time left when they arrive. Calls that live
  // longer are limited by --max-streams.
  static constexpr double kResetsPerSecond = 2000;
  static constexpr double kResetBurst = 4000;
  static constexpr std::chrono::milliseconds kRapidResetAge{50};
  // Concurrent calls beyond --max-streams. A peer may open calls before the
  // server has noticed that earlier ones were cancelled.
  static constexpr int64_t kExcessStreams = 800;
  // Bytes of headers, pings, window updates, settings and calls that are not
  // reported, such as health checks: at once, and per second.
  static constexpr int64_t kFreeBytes = int64_t{512} << 10;
  static constexpr double kFreeBytesPerSecond = 16 << 10;
  // Bytes of a call besides its metadata and its message: the path and other
  // headers of gRPC, and frames.
  static constexpr int64_t kCallBytes = 1024;
  // Window updates that a peer sends while it receives responses: one byte for
  // this many received. An HTTP/2 client that updates both windows for each
  // frame of 16 KiB sends one byte for 630.
  static constexpr int64_t kSentPerControlByte = 64;
  // Frames and TLS records around a message: one byte for this many.
  static constexpr int64_t kMessagePerOverheadByte = 16;
  // Min unaccounted bytes of a connection that is closed because of memory, and
  // the min time between two of them, in which memory is freed.
  static constexpr int64_t kMinMemoryCloseBytes = int64_t{1} << 20;
  static constexpr std::chrono::milliseconds kMemoryClosePause{500};
  // Resident memory beyond the budget and its half that the process may use.
  static constexpr int64_t kResidentSlackBytes = int64_t{128} << 20;
  // Freed memory is returned to the system if the resident memory exceeds the
  // reserved memory by kTrimExcessBytes, at most once per kTrimInterval. After
  // the end of a flood, gRPC needs a while to free its memory: kTrimsAfterClose
  // intervals are awaited.
  static constexpr int64_t kTrimExcessBytes = int64_t{160} << 20;
  static constexpr std::chrono::seconds kTrimInterval{2};
  static constexpr int kTrimsAfterClose = 5;

  struct Limits {
    int max_streams = 100;                       // --max-streams
    int64_t metadata_bytes = int64_t{16} << 10;  // --max-metadata-bytes
    // Flow-control window of a call until its message is read.
    int64_t unread_bytes = int64_t{16} << 10;
    int64_t message_bytes = int64_t{512} << 20;  // --max-message-bytes
  };
  // Bytes that the socket of a connection has received and sent since it was
  // opened. `sent` counts acknowledged bytes.
  struct SocketBytes {
    int64_t received = 0;
    int64_t sent = 0;
  };

  // `budget` must outlive the guard.
  ConnectionGuard(const Limits& limits, const MemoryBudget* budget);

  // Adds a connection. Its peer is the string that
  // grpc::ServerContext::peer() returns for its calls. Replaces a connection of
  // the same peer, which must have ended.
  std::shared_ptr<GuardedConnection> Add(std::string peer,
                                         Clock::time_point now);
  // Whether a new connection of this peer may be accepted. False for a while
  // after a connection of the same address was closed for its bytes:
  // otherwise each new connection would begin with the full allowance.
  bool MayConnect(const std::string& peer, Clock::time_point now);
  void Remove(const GuardedConnection& connection);
  // The connection of a call. Calls of Unix domain sockets and in-process
  // channels share a connection that is never checked.
  std::shared_ptr<GuardedConnection> Find(const std::string& peer) const;

  // Checks one connection, and returns why it must be closed, if so. Take the
  // reports before reading the byte counts of the socket, so that no message is
  // reported before its bytes are counted. Returns a reason only once per
  // connection.
  std::optional<CloseReason> Check(GuardedConnection& connection,
                                   const GuardedConnection::Reports& reports,
                                   const SocketBytes& bytes,
                                   Clock::time_point now);
  // Returns a connection that must be closed because of memory, or null: the
  // one with most unaccounted bytes.
  std::shared_ptr<GuardedConnection> CheckMemory(int64_t resident_bytes,
                                                 Clock::time_point now);
  // Whether to return freed memory to the system now.
  bool ShouldTrim(int64_t resident_bytes, Clock::time_point now);
  // Whether memory of a closed connection may be freed later, so that
  // ShouldTrim() must be called even if no connection is active.
  bool expects_freed_memory() const;

  // Connections closed for `reason` so far.
  int64_t closed(CloseReason reason) const {
    return closed_[static_cast<size_t>(reason)];
  }
  int64_t unaccounted_bytes(const GuardedConnection& connection) const;

 private:
  // Bytes that a connection may have sent without an explanation, while that
  // many messages are being read.
  int64_t AllowedBytes(int64_t reads) const;
  void OnClosing(GuardedConnection& connection, CloseReason reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const MemoryBudget& budget_;
  const std::shared_ptr<GuardedConnection> unguarded_;
  std::atomic<int64_t> closed_[std::size(kCloseReasons)] = {};
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<GuardedConnection>>
      connections_ ABSL_GUARDED_BY(mutex_);
  AddressBackoff backoff_ ABSL_GUARDED_BY(mutex_);
  int64_t total_unaccounted_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Clock::time_point> memory_closed_at_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point trimmed_at_ ABSL_GUARDED_BY(mutex_){};
  // Since a connection was closed.
  int trims_left_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace locus::server
