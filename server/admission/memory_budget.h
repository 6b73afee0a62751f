// The memory that all calls together may hold.
//
// Every size is known before anything is allocated, so a call reserves first
// and allocates after. Reservations are numbers: the budget never touches
// memory itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"

namespace locus::server {

// Thread-safe.
class MemoryBudget {
 public:
  // What one call holds. Gives everything back when it dies. Must not outlive
  // the budget.
  class Reservation {
   public:
    explicit Reservation(MemoryBudget* budget) : budget_(budget) {}
    ~Reservation();
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    // Adds to what the call holds. RESOURCE_EXHAUSTED (limit
    // `memory_budget_bytes`) if the call could not have that much on an idle
    // server; UNAVAILABLE if it is only too much just now. `bytes` is not
    // negative.
    absl::Status Grow(int64_t bytes);

    int64_t bytes() const { return bytes_; }

   private:
    MemoryBudget* const budget_;
    int64_t bytes_ = 0;
  };

  explicit MemoryBudget(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  int64_t budget_bytes() const { return budget_bytes_; }
  int64_t reserved_bytes() const { return reserved_bytes_; }

 private:
  const int64_t budget_bytes_;
  std::atomic<int64_t> reserved_bytes_{0};
};

}  // namespace locus::server
