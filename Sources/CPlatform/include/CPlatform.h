#ifndef CPLATFORM_H
#define CPLATFORM_H

// Functions that Swift cannot call directly: GNU extensions of the C library, and those that differ between systems.
// Includes no system header that declares structures, as Swift would attribute those to this module.

#include <stddef.h>
#include <stdint.h>

/// The lowest address of the calling thread's stack and its size in bytes. Returns nonzero if unknown.
int cplatform_stack(uintptr_t *lowest, size_t *size);

/// The real address on the caller's stack, even where a sanitizer keeps variables elsewhere.
static inline uintptr_t cplatform_stack_position(void) {
  return (uintptr_t)__builtin_frame_address(0);
}

/// Prefetches the cache line at `address`; never faults.
static inline void cplatform_prefetch(const void *address) {
  __builtin_prefetch(address);
}

/// memmove and a memset to 0 that are no tail calls: in a function that throws, Swift up to 6.3 leaves a stale error behind
/// such a call (https://github.com/swiftlang/swift/issues/90477).
static inline void cplatform_copy(void *to, const void *from, size_t count) {
  __builtin_memmove(to, from, count);
  __asm__ volatile("");
}
static inline void cplatform_clear(void *bytes, size_t count) {
  __builtin_memset(bytes, 0, count);
  __asm__ volatile("");
}

/// Names the calling thread, for debuggers; at most 15 bytes on Linux.
void cplatform_name_thread(const char *name);

/// write(2) and close(2), whose names in Swift depend on the C library.
intptr_t cplatform_write(int descriptor, const void *bytes, size_t count);
int cplatform_close(int descriptor);

/// pwrite(2) of two adjacent buffers in one call. Returns the bytes written, or -1 and `errno`.
intptr_t cplatform_write_two(int descriptor, const void *first, size_t first_count, const void *second,
                             size_t second_count, int64_t offset);

/// Atomically exchanges two names in a directory. Returns 0, or -1 and `errno`: `ENOSYS` or `EINVAL` if unsupported.
int cplatform_exchange(int directory, const char *first, const char *second);

/// Whether all pages of a range of a mapping are in memory: 1, or 0 if not or unknown.
int cplatform_is_resident(const void *address, size_t size);

/// Reserves blocks for a file's first `size` bytes. Returns 0, or -1 and `errno`. Does nothing if the file system
/// cannot: posix_fallocate(3) would write, and could undo another process's simultaneous write.
int cplatform_reserve(int descriptor, int64_t size);

/// Allocates blocks for a range of a file and extends the file to cover it. Returns 0, or -1 and `errno`. Writes the
/// blocks if the file system cannot reserve them, so no other process may write there. On Darwin only from offset 0.
int cplatform_allocate(int descriptor, int64_t offset, int64_t size);

/// Punches a hole, which then reads as zeros; the file keeps its length. Returns 0, or -1 and `errno`: EOPNOTSUPP if
/// unsupported.
int cplatform_punch(int descriptor, int64_t offset, int64_t size);

/// fsync(2), down to the medium where that is another call.
int cplatform_fsync(int descriptor);

/// Makes the volume of a descriptor durable.
int cplatform_syncfs(int descriptor);

/// Asks the system to start writing a range of a file to the device. Makes nothing durable.
void cplatform_start_writing(int descriptor, int64_t offset, int64_t count);

/// faccessat(2): 0 if this user can create and remove files in a directory, else -1. Avoids faccessat2(2) on Linux,
/// which the C library prefers and older containers refuse with an error that looks like a missing permission.
int cplatform_is_writable(int descriptor);

/// The offset of a file's next hole, or next data, by lseek(2); -1 if not found or unknown.
int64_t cplatform_seek(int descriptor, int64_t offset, int hole);

/// The file system's magic number, `f_type` of statfs(2); -1 on failure or if the system has none.
int64_t cplatform_file_system(int descriptor);

/// Disables Btrfs's copy-on-write for a file that is still empty. Does nothing on other file systems.
void cplatform_disable_copy_on_write(int descriptor);

/// Takes (1), releases (0) or tests (-1) an exclusive lock on the byte at an offset, owned by the open file
/// description. Returns 0 on success or if unlocked; 1 if another owner has it; -1 and `errno` on failure. Always
/// grants it where the system has no such locks.
int cplatform_byte_lock(int descriptor, int64_t offset, int action);

/// Whether another process has an fcntl(2) lock on any part of a file: 1 or 0; -1 and `errno` on failure.
int cplatform_is_locked_elsewhere(int descriptor);

/// Copies the value of a file's user extended attribute. Returns its length, 0 if there is none, or -1 and `errno`:
/// ERANGE if it is longer than `count`.
intptr_t cplatform_attribute(int descriptor, const char *name, void *bytes, size_t count);

// Thread numbers, for data with a cache line per thread.

/// How many threads can have a number at a time: a constant power of two, at least 32.
uint32_t cplatform_thread_numbers(void);

/// The lowest number never assigned: an upper bound for loops over all threads' lines.
uint32_t cplatform_thread_numbers_given(void);

/// Assigns the calling thread the lowest free number until the thread ends. Returns `CPLATFORM_NO_THREAD_NUMBER` if all
/// are taken or the thread is ending.
uint32_t cplatform_take_thread_number(void);

#define CPLATFORM_NO_THREAD_NUMBER UINT32_MAX

#if defined(__linux__)
// dlopen(3) may load the library: the four bytes come from the C library's reserve for that.
#define CPLATFORM_THREAD_LOCAL __attribute__((tls_model("initial-exec")))
#else
#define CPLATFORM_THREAD_LOCAL
#endif

/// The calling thread's number plus one, or 0 if it has none.
extern _Thread_local uint32_t cplatform_own_thread_number CPLATFORM_THREAD_LOCAL;

/// The calling thread's number, or `CPLATFORM_NO_THREAD_NUMBER`.
static inline uint32_t cplatform_thread_number(void) { return cplatform_own_thread_number - 1; }

// Sampled timing of a thread's operations: about a thousand a second, at least one in 1024.

/// Kinds of operations, counted separately.
enum { CPLATFORM_SAMPLINGS = 3 };

struct cplatform_sampling {
  /// Operations until the next sample.
  uint32_t left;
  /// The average distance between samples.
  uint32_t interval;
  /// The time of the last sample, in monotonic nanoseconds.
  int64_t last;
};

extern _Thread_local struct cplatform_sampling cplatform_samplings[CPLATFORM_SAMPLINGS] CPLATFORM_THREAD_LOCAL;

/// Counts an operation of the calling thread. Returns whether to time it.
static inline int cplatform_is_sample(uint32_t kind) { return --cplatform_samplings[kind].left == 0; }

/// Chooses the next operation to time. The distance is random, so that samples cover every step of a loop.
void cplatform_did_sample(uint32_t kind, int64_t now);

// Racy reads, validated afterwards. Where possible they are machine instructions: those are outside the language's
// memory model, and the thread sanitizer, which cannot know of the validation, does not see them. A function attribute
// would not help, as Swift's compiler instruments such functions anyway.

/// The word at an address aligned to 8.
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

/// The half word at an address aligned to 4.
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

/// Copies `size` bytes by words. Addresses and size are multiples of 8.
static inline void cplatform_peek_words(void *to, const void *from, size_t size) {
  for (size_t offset = 0; offset < size; offset += 8) {
    *(uint64_t *)((char *)to + offset) = cplatform_peek((const char *)from + offset);
  }
}

/// Copies `size` bytes by half words. Addresses and size are multiples of 4.
static inline void cplatform_peek_halves(void *to, const void *from, size_t size) {
  for (size_t offset = 0; offset < size; offset += 4) {
    *(uint32_t *)((char *)to + offset) = cplatform_peek_half((const char *)from + offset);
  }
}

/// Writes a byte that others may write at the same time; one of the values remains.
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

/// A sequentially consistent fence, by the cheapest instruction.
static inline void cplatform_fence(void) {
#if defined(__x86_64__)
  __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// Prefetches a line for writing. Processors without such a request ignore it.
static inline void cplatform_prefetch_to_write(const void *address) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw (%0)" ::"r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

#endif
