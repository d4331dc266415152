// Swift's locks under the thread sanitizer on Linux, to be preloaded into an instrumented program.

// Synchronization.Mutex: its fast path is compiled into the program, where the sanitizer sees its atomic operations.
// The slow path under contention is in the standard library, which is not instrumented: everything that the mutex
// guards would be reported as a race.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SELF __attribute__((swift_context)) void *mutex

// Absent in other programs that a test starts.
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

typedef __attribute__((swiftcall)) void (*lock_function)(uint32_t thread, SELF);
typedef __attribute__((swiftcall)) void (*unlock_function)(SELF);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) void unlock_slow(SELF) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SELF) {
  ((lock_function)dlsym(RTLD_NEXT, LOCK_SLOW))(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

__attribute__((swiftcall)) void unlock_slow(SELF) {
  if (__tsan_release) __tsan_release(mutex);
  ((unlock_function)dlsym(RTLD_NEXT, UNLOCK_SLOW))(mutex);
}

// Once: if the runtime finds the sanitizer, it takes a lock every time, not only the first, so that the sanitizer sees
// the order. It also does so for its own caches, where unoptimized code looks up generic metadata in every loop, and
// all threads of a test waited for the same few locks. The runtime is not instrumented, so its caches do not need this.
// The globals of a program use swift_once: this one informs the sanitizer each time, but locks only the first time.

extern bool _swift_tsan_enabled __attribute__((weak));

__attribute__((constructor)) static void leave_runtime_alone(void) {
  if (&_swift_tsan_enabled) _swift_tsan_enabled = false;
}

// Not -1, which inlined code takes as done without a call.
enum { NOT_DONE = 0, DONE = 1 };

typedef struct {
  _Atomic int32_t state;
  _Atomic int32_t lock;
} once_token;

void swift_once(once_token *token, void (*body)(void *), void *context) {
  while (atomic_load(&token->state) == NOT_DONE) {
    int32_t free = 0;
    if (!atomic_compare_exchange_strong(&token->lock, &free, 1)) {
      usleep(50);
      continue;
    }
    if (atomic_load(&token->state) == NOT_DONE) {
      body(context);
      if (__tsan_release) __tsan_release(token);
      atomic_store(&token->state, DONE);
    }
    atomic_store(&token->lock, 0);
  }
  if (__tsan_acquire) __tsan_acquire(token);
}
