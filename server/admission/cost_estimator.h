// Estimates of the compute time of a method's calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace locus::server {

// The work of a call: multiplications and additions, and bytes written.
struct Work {
  double flops = 0;
  int64_t bytes = 0;
};

// Estimates the compute time of the calls of one method, once from the request,
// and once before the request is read. Not thread-safe.
//
// Once the request is read, its work is known:
//
//   seconds = exp(f) * (overhead + flops / speed + bytes / bandwidth)
//
// with the speed of a ten-year-old machine, and a factor f that is learned from
// measured calls as an exponentially weighted moving average (EWMA):
//
//   f += w * (log(measured / estimated with f = 0) - f),   w = 0.1.
//
// Before the request is read, only its method and its connection are known.
// Calls of one connection resemble each other, so that the estimate is an EWMA
// of what the last calls of the connection needed. It follows a smaller value
// at once, and a larger one with weight w, so that a connection that sends
// small and large calls counts as one that sends small calls.
class CostEstimator {
 public:
  explicit CostEstimator(int threads) : threads_(threads) {}

  // Whether the connection has made a call of this method, not too long ago.
  bool Knows(uint64_t connection) const {
    return recent_[IndexOf(connection)].connection == connection;
  }
  // The expected seconds of the next call of a connection, and the size of its
  // message; 0 if the connection is unknown.
  double Predict(uint64_t connection) const;
  int64_t PredictBytes(uint64_t connection) const;
  // The expected seconds of this work.
  double Expect(const Work& work) const;

  // Records what a call of a connection is expected to need, now that its work
  // is known, and the size of its message.
  void OnExpected(uint64_t connection, double seconds, int64_t message_bytes);
  // Records the measured time of a call.
  void OnMeasured(const Work& work, double seconds);

 private:
  // The expectation for f = 0.
  double Guess(const Work& work) const;

  // A direct-mapped table: connections with equal index replace each other.
  struct Recent {
    uint64_t connection = 0;
    double seconds = 0;
    int64_t message_bytes = 0;  // of the last call
  };
  static constexpr size_t kTableSize = 1024;
  static size_t IndexOf(uint64_t connection) { return connection % kTableSize; }

  const int threads_;
  double log_factor_ = 0;
  std::array<Recent, kTableSize> recent_{};
};

}  // namespace locus::server
