#include "locus/client/cancellation.h"

#include "grpcpp/client_context.h"

namespace locus::client {

void Canceller::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
  cancelled_changed_.notify_all();
}

bool Canceller::cancelled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cancelled_;
}

bool Canceller::WaitFor(absl::Duration duration) {
  std::unique_lock<std::mutex> lock(mutex_);
  return cancelled_changed_.wait_for(lock, absl::ToChronoNanoseconds(duration),
                                     [this] { return cancelled_; });
}

Canceller::Scope::Scope(Canceller* canceller, grpc::ClientContext* context)
    : canceller_(canceller) {
  if (canceller_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(canceller_->mutex_);
  canceller_->context_ = context;
  if (canceller_->cancelled_) context->TryCancel();
}

Canceller::Scope::~Scope() {
  if (canceller_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(canceller_->mutex_);
  canceller_->context_ = nullptr;
}

}  // namespace locus::client
