#ifndef CPLATFORM_H
#define CPLATFORM_H

// What Swift cannot call as it is: functions that the C library declares for GNU sources only, and those that differ
// between systems. No header of the system's that declares structures: they would be this module's, for Swift.

#include <stddef.h>
#include <stdint.h>

/// The lowest address of the calling thread's stack and its size in bytes. Returns nonzero if the system does not tell.
int cplatform_stack(uintptr_t *lowest, size_t *size);

/// An address on the caller's stack: the real one, also where a sanitizer keeps variables elsewhere.
static inline uintptr_t cplatform_stack_position(void) {
  return (uintptr_t)__builtin_frame_address(0);
}

/// Asks the processor to load the cache line at `address`; never faults.
static inline void cplatform_prefetch(const void *address) {
  __builtin_prefetch(address);
}

/// Names the calling thread, for debuggers; at most 15 bytes on Linux.
void cplatform_name_thread(const char *name);

/// write(2) and close(2), which Swift cannot name in one way for all C libraries.
intptr_t cplatform_write(int descriptor, const void *bytes, size_t count);
int cplatform_close(int descriptor);

/// pwrite(2) of two runs of bytes, one behind the other, in one call: how many were written; -1 and `errno` for a failure.
intptr_t cplatform_write_two(int descriptor, const void *first, size_t first_count, const void *second,
                             size_t second_count, int64_t offset);

/// Gives each of two names in a directory what the other has, at once: 0; -1 and `errno`, `ENOSYS` or `EINVAL` where the
/// system, or the file system, cannot.
int cplatform_exchange(int directory, const char *first, const char *second);

/// Whether all pages of a mapping's part are in memory, so that reading them takes no device: 1 or 0. Where the system
/// does not tell, 0.
int cplatform_is_resident(const void *address, size_t size);

/// Reserves the blocks of a file's first `size` bytes; 0 or the error number. Where the file system cannot, nothing is
/// done: posix_fallocate(3) writes there, and so might undo what another process writes meanwhile.
int cplatform_reserve(int descriptor, int64_t size);

/// Gives a part of a file its blocks, and makes the file long enough for it; 0 or the error number. Where the file system
/// cannot reserve blocks, it writes them: only for what nobody else writes. On Darwin only from offset 0 on.
int cplatform_allocate(int descriptor, int64_t offset, int64_t size);

/// Gives the blocks of a part of a file back, which then reads as zeros; the file keeps its length. 0 or the error number:
/// EOPNOTSUPP where the file system, or the system, cannot.
int cplatform_punch(int descriptor, int64_t offset, int64_t size);

/// fsync(2), to the medium itself where that is another call.
int cplatform_fsync(int descriptor);

/// Makes everything on the volume of a descriptor durable.
int cplatform_syncfs(int descriptor);

/// Has the system begin to write a part of a file to the device, where it can be asked to. Nothing is durable by that.
void cplatform_start_writing(int descriptor, int64_t offset, int64_t count);

/// faccessat(2): 0 if this user can make and remove files in a directory, else -1. On Linux without faccessat2(2), which the
/// C library prefers and older containers refuse with an error that reads as a missing permission.
int cplatform_is_writable(int descriptor);

/// The offset of the next hole of a file, or else of the next data, as lseek(2) tells; -1: there is none, or no telling.
int64_t cplatform_seek(int descriptor, int64_t offset, int hole);

/// `f_type` of statfs(2), the file system's magic number; -1: the call failed, or the system has none.
int64_t cplatform_file_system(int descriptor);

/// Has Btrfs write a file, which is still empty, in its place, where it would write elsewhere and need room for that. Does
/// nothing on other file systems.
void cplatform_disable_copy_on_write(int descriptor);

/// Takes (1), gives back (0) or asks for (-1) an exclusive lock on the byte at an offset, which belongs to the open file
/// description. Returns 0 if that was done, or nobody has it; 1 if another one has it; -1 and `errno` for a failure.
/// Where the system has no such locks, everything is granted.
int cplatform_byte_lock(int descriptor, int64_t offset, int action);

/// Whether another process has a lock by fcntl(2) on any part of a file: 1 or 0; -1 and `errno` for a failure. Locks of
/// this process do not count.
int cplatform_is_locked_elsewhere(int descriptor);

/// Copies the value of a file's extended attribute of the user's; returns its length, 0 where there is no such attribute, and
/// -1 and `errno` for a failure: ERANGE if it is longer than `count`.
intptr_t cplatform_attribute(int descriptor, const char *name, void *bytes, size_t count);

// Threads, numbered for those who keep a cache line for each of them.

/// How many threads of the process can have a number at a time: a power of two, 32 or more, the same all the time.
uint32_t cplatform_thread_numbers(void);

/// The lowest number that no thread has had yet: whoever looks at all threads' lines looks at those below it.
uint32_t cplatform_thread_numbers_given(void);

/// Gives the calling thread the lowest free number, for as long as it lives. `CPLATFORM_NO_THREAD_NUMBER` when all are
/// taken, and to a thread that is about to end.
uint32_t cplatform_take_thread_number(void);

#define CPLATFORM_NO_THREAD_NUMBER UINT32_MAX

#if defined(__linux__)
// The library may be loaded by dlopen(3): the four bytes come from what the C library sets aside for that.
#define CPLATFORM_THREAD_LOCAL __attribute__((tls_model("initial-exec")))
#else
#define CPLATFORM_THREAD_LOCAL
#endif

/// The calling thread's number plus one, or 0 if it has none.
extern _Thread_local uint32_t cplatform_own_thread_number CPLATFORM_THREAD_LOCAL;

/// The calling thread's number, or `CPLATFORM_NO_THREAD_NUMBER`.
static inline uint32_t cplatform_thread_number(void) { return cplatform_own_thread_number - 1; }

// Timing some of the operations of a thread: about a thousand a second, and where there are more, one of 1024.

/// Kinds of operations, each of which is counted for itself.
enum { CPLATFORM_SAMPLINGS = 3 };

struct cplatform_sampling {
  /// Operations up to the next one that is timed.
  uint32_t left;
  /// How many there are from one to the next, on average.
  uint32_t interval;
  /// When one was timed last, in nanoseconds of a clock that never goes back.
  int64_t last;
};

extern _Thread_local struct cplatform_sampling cplatform_samplings[CPLATFORM_SAMPLINGS] CPLATFORM_THREAD_LOCAL;

/// Counts an operation of the calling thread: whether it is to be timed.
static inline int cplatform_is_sample(uint32_t kind) { return --cplatform_samplings[kind].left == 0; }

/// Chooses the next operation to be timed, after one was. The distance is drawn: what a program does over and over is met
/// at each of its places.
void cplatform_did_sample(uint32_t kind, int64_t now);

// Reading what another thread may be writing, to be believed only if it turns out that nobody was. By instructions of the
// machine, where they are known: what they read is no matter of the language then, and the thread sanitizer, which cannot
// know that nothing is believed that should not be, does not see them. A function's attribute would not do, as Swift's
// compiler has these instrumented nevertheless.

/// The word at an address that is a multiple of 8.
static inline uint64_t cplatform_peek(const void *word) {
#if defined(__x86_64__)
  uint64_t value;
  __asm__ volatile("movq (%1), %0" : "=r"(value) : "r"(word) : "memory");
  return value;
#elif defined(__aarch64__) && defined(__LP64__)
  uint64_t value;
  __asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(word) : "memory");
  return value;
#else
  return __atomic_load_n((const uint64_t *)word, __ATOMIC_RELAXED);
#endif
}

/// The half of a word at an address that is a multiple of 4.
static inline uint32_t cplatform_peek_half(const void *half) {
#if defined(__x86_64__)
  uint32_t value;
  __asm__ volatile("movl (%1), %0" : "=r"(value) : "r"(half) : "memory");
  return value;
#elif defined(__aarch64__) && defined(__LP64__)
  uint32_t value;
  __asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(half) : "memory");
  return value;
#else
  return __atomic_load_n((const uint32_t *)half, __ATOMIC_RELAXED);
#endif
}

/// The address at an address.
static inline uintptr_t cplatform_peek_address(const void *place) {
  return sizeof(uintptr_t) == 8 ? (uintptr_t)cplatform_peek(place) : (uintptr_t)cplatform_peek_half(place);
}

/// Copies `size` bytes, word by word. Addresses and size are multiples of 8.
static inline void cplatform_peek_words(void *to, const void *from, size_t size) {
  for (size_t offset = 0; offset < size; offset += 8) {
    *(uint64_t *)((char *)to + offset) = cplatform_peek((const char *)from + offset);
  }
}

/// Copies `size` bytes by four. Addresses and size are multiples of 4.
static inline void cplatform_peek_halves(void *to, const void *from, size_t size) {
  for (size_t offset = 0; offset < size; offset += 4) {
    *(uint32_t *)((char *)to + offset) = cplatform_peek_half((const char *)from + offset);
  }
}

/// Writes a number that others may be writing too: any of them stays.
static inline void cplatform_poke_byte(void *place, uint8_t byte) {
#if defined(__x86_64__)
  __asm__ volatile("movb %1, (%0)" ::"r"(place), "q"(byte) : "memory");
#elif defined(__aarch64__) && defined(__LP64__)
  __asm__ volatile("strb %w1, [%0]" ::"r"(place), "r"(byte) : "memory");
#else
  __atomic_store_n((uint8_t *)place, byte, __ATOMIC_RELAXED);
#endif
}
static inline void cplatform_poke_half(void *place, uint32_t half) {
#if defined(__x86_64__)
  __asm__ volatile("movl %1, (%0)" ::"r"(place), "r"(half) : "memory");
#elif defined(__aarch64__) && defined(__LP64__)
  __asm__ volatile("str %w1, [%0]" ::"r"(place), "r"(half) : "memory");
#else
  __atomic_store_n((uint32_t *)place, half, __ATOMIC_RELAXED);
#endif
}

/// A sequentially consistent fence, by the cheapest instruction that is one.
static inline void cplatform_fence(void) {
#if defined(__x86_64__)
  __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// Has the processor fetch a line that is about to be written. One that knows no such request ignores it.
static inline void cplatform_prefetch_to_write(const void *address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw (%0)" ::"r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

#endif
