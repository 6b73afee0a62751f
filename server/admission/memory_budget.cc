#include "server/admission/memory_budget.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "server/admission/rejection.h"

namespace locus::server {

MemoryBudget::Reservation::~Reservation() {
  budget_->reserved_bytes_ -= bytes_;
}

absl::Status MemoryBudget::Reservation::Grow(int64_t bytes) {
  const int64_t budget = budget_->budget_bytes_;
  if (bytes > budget - bytes_) {
    return LimitExceeded(
        "request", "memory_budget_bytes",
        absl::StrCat("needs more memory than there is: another ", bytes,
                     " bytes, and memory_budget_bytes is ", budget));
  }
  int64_t reserved = budget_->reserved_bytes_;
  do {
    if (bytes > budget - reserved) {
      return Reject(RejectReason::kMemory,
                    "other calls hold the memory this one needs; try again");
    }
  } while (!budget_->reserved_bytes_.compare_exchange_weak(reserved,
                                                           reserved + bytes));
  bytes_ += bytes;
  return absl::OkStatus();
}

}  // namespace locus::server
