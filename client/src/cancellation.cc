#include "locus/client/cancellation.h"

#include "grpcpp/client_context.h"

namespace locus::client {

void CancellationToken::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
  cancelled_changed_.notify_all();
}

bool CancellationToken::cancelled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cancelled_;
}

bool CancellationToken::WaitFor(absl::Duration duration) {
  std::unique_lock<std::mutex> lock(mutex_);
  return cancelled_changed_.wait_for(lock, absl::ToChronoNanoseconds(duration),
                                     [this] { return cancelled_; });
}

CancellationToken::Scope::Scope(CancellationToken* token,
                                grpc::ClientContext* context)
    : token_(token) {
  if (token_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(token_->mutex_);
  token_->context_ = context;
  if (token_->cancelled_) context->TryCancel();
}

CancellationToken::Scope::~Scope() {
  if (token_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(token_->mutex_);
  token_->context_ = nullptr;
}

}  // namespace locus::client
