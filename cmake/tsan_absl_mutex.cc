// Makes absl::Mutex, CondVar and Notification visible to ThreadSanitizer.
//
// Debian's abseil is not instrumented, so that the sanitizer would report every
// access that only they order. The linker redirects the calls of
// this project to the functions below (--wrap, see LocusOptions.cmake), which
// tell the sanitizer when a mutex is acquired and released.
// LOCUS_ABSL_NAMESPACE is the mangled name of abseil's inline namespace. A
// function of absl::Mutex that is not listed here causes false reports, and
// belongs here as well.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#define LOCUS_JOIN(a, b, c, d) a##b##c##d
#define LOCUS_EXPAND(a, b, c, d) LOCUS_JOIN(a, b, c, d)
#define LOCUS_REAL(prefix, suffix) \
  LOCUS_EXPAND(__real__, prefix, LOCUS_ABSL_NAMESPACE, suffix)
#define LOCUS_WRAP(prefix, suffix) \
  LOCUS_EXPAND(__wrap__, prefix, LOCUS_ABSL_NAMESPACE, suffix)

namespace {

void BeforeRelease(absl::Mutex* mutex) {
  __tsan_mutex_pre_unlock(mutex, 0);
  __tsan_mutex_post_unlock(mutex, 0);
}
void AfterAcquire(absl::Mutex* mutex) {
  __tsan_mutex_pre_lock(mutex, 0);
  __tsan_mutex_post_lock(mutex, 0, 0);
}

// The flag of a notification, which HasBeenNotified() reads inline.
void* FlagOf(const absl::Notification* notification) {
  return reinterpret_cast<char*>(
             const_cast<absl::Notification*>(notification)) +
         sizeof(absl::Mutex);
}

}  // namespace

extern "C" {

void LOCUS_REAL(ZN4absl, 5Mutex4LockEv)(absl::Mutex* mutex);
void LOCUS_WRAP(ZN4absl, 5Mutex4LockEv)(absl::Mutex* mutex) {
  LOCUS_REAL(ZN4absl, 5Mutex4LockEv)(mutex);
  AfterAcquire(mutex);
}

bool LOCUS_REAL(ZN4absl, 5Mutex7TryLockEv)(absl::Mutex* mutex);
bool LOCUS_WRAP(ZN4absl, 5Mutex7TryLockEv)(absl::Mutex* mutex) {
  const bool acquired = LOCUS_REAL(ZN4absl, 5Mutex7TryLockEv)(mutex);
  if (acquired) {
    __tsan_mutex_pre_lock(mutex, __tsan_mutex_try_lock);
    __tsan_mutex_post_lock(mutex, __tsan_mutex_try_lock, 0);
  }
  return acquired;
}

void LOCUS_REAL(ZN4absl, 5Mutex6UnlockEv)(absl::Mutex* mutex);
void LOCUS_WRAP(ZN4absl, 5Mutex6UnlockEv)(absl::Mutex* mutex) {
  BeforeRelease(mutex);
  LOCUS_REAL(ZN4absl, 5Mutex6UnlockEv)(mutex);
}

void LOCUS_REAL(ZN4absl, 5MutexD1Ev)(absl::Mutex* mutex);
void LOCUS_WRAP(ZN4absl, 5MutexD1Ev)(absl::Mutex* mutex) {
  __tsan_mutex_destroy(mutex, 0);
  LOCUS_REAL(ZN4absl, 5MutexD1Ev)(mutex);
}

void LOCUS_REAL(ZN4absl, 7CondVar4WaitEPNS0_5MutexE)(absl::CondVar* variable,
                                                     absl::Mutex* mutex);
void LOCUS_WRAP(ZN4absl, 7CondVar4WaitEPNS0_5MutexE)(absl::CondVar* variable,
                                                     absl::Mutex* mutex) {
  BeforeRelease(mutex);
  LOCUS_REAL(ZN4absl, 7CondVar4WaitEPNS0_5MutexE)(variable, mutex);
  AfterAcquire(mutex);
}

bool LOCUS_REAL(ZN4absl, 7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(
    absl::CondVar* variable, absl::Mutex* mutex, absl::Duration timeout);
bool LOCUS_WRAP(ZN4absl, 7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(
    absl::CondVar* variable, absl::Mutex* mutex, absl::Duration timeout) {
  BeforeRelease(mutex);
  const bool timed_out =
      LOCUS_REAL(ZN4absl, 7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(
          variable, mutex, timeout);
  AfterAcquire(mutex);
  return timed_out;
}

bool LOCUS_REAL(ZN4absl, 7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)(
    absl::CondVar* variable, absl::Mutex* mutex, absl::Time deadline);
bool LOCUS_WRAP(ZN4absl, 7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)(
    absl::CondVar* variable, absl::Mutex* mutex, absl::Time deadline) {
  BeforeRelease(mutex);
  const bool timed_out =
      LOCUS_REAL(ZN4absl, 7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)(
          variable, mutex, deadline);
  AfterAcquire(mutex);
  return timed_out;
}

void LOCUS_REAL(ZN4absl, 12Notification6NotifyEv)(absl::Notification* self);
void LOCUS_WRAP(ZN4absl, 12Notification6NotifyEv)(absl::Notification* self) {
  __tsan_release(FlagOf(self));
  LOCUS_REAL(ZN4absl, 12Notification6NotifyEv)(self);
}

void LOCUS_REAL(ZNK4absl, 12Notification19WaitForNotificationEv)(
    const absl::Notification* self);
void LOCUS_WRAP(ZNK4absl, 12Notification19WaitForNotificationEv)(
    const absl::Notification* self) {
  LOCUS_REAL(ZNK4absl, 12Notification19WaitForNotificationEv)(self);
  __tsan_acquire(FlagOf(self));
}

bool LOCUS_REAL(ZNK4absl,
                12Notification30WaitForNotificationWithTimeoutENS0_8DurationE)(
    const absl::Notification* self, absl::Duration timeout);
bool LOCUS_WRAP(ZNK4absl,
                12Notification30WaitForNotificationWithTimeoutENS0_8DurationE)(
    const absl::Notification* self, absl::Duration timeout) {
  const bool notified = LOCUS_REAL(
      ZNK4absl, 12Notification30WaitForNotificationWithTimeoutENS0_8DurationE)(
      self, timeout);
  if (notified) __tsan_acquire(FlagOf(self));
  return notified;
}

}  // extern "C"
