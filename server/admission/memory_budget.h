// The memory budget of all calls together.
//
// Every size is known before anything is allocated, so that a call reserves
// memory first and allocates it afterwards. A reservation is only a number: the
// budget allocates nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"

namespace locus::server {

// Thread-safe.
class MemoryBudget {
 public:
  // The memory that one call has reserved; the destructor releases it. Must not
  // outlive the budget.
  class Reservation {
   public:
    explicit Reservation(MemoryBudget* budget) : budget_(budget) {}
    ~Reservation();
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    // Reserves `bytes` more, which must not be negative. Returns
    // RESOURCE_EXHAUSTED (limit `memory_budget_bytes`) if the call does not fit
    // even on an idle server, and UNAVAILABLE if other calls hold the memory.
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
