#include "CPlatform.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

// Numbers are assigned lowest first and released when their thread ends: one bit each, under a mutex. A thread asks
// once.

enum { MOST = 512, LEAST = 32, WORD = 64 };

_Thread_local uint32_t cplatform_own_thread_number CPLATFORM_THREAD_LOCAL = 0;
static _Thread_local int is_ending = 0;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key = 0;
static uint64_t taken[MOST / WORD];
static _Atomic uint32_t given = 0;
static _Atomic uint32_t free_count = 0;
static uint32_t count = 0;

static void give_back(void *value) {
  uint32_t number = (uint32_t)(uintptr_t)value - 1;
  // Destructors of other keys that run later on this thread get no number: it could not be released.
  is_ending = 1;
  cplatform_own_thread_number = 0;
  pthread_mutex_lock(&mutex);
  taken[number / WORD] &= ~(1ull << number % WORD);
  atomic_fetch_add_explicit(&free_count, 1, memory_order_relaxed);
  pthread_mutex_unlock(&mutex);
}

static void start(void) {
  long processors = sysconf(_SC_NPROCESSORS_CONF);
  count = LEAST;
  while (count < MOST && (long)count < 4 * processors) count *= 2;
  atomic_store_explicit(&free_count, count, memory_order_relaxed);
  has_key = pthread_key_create(&key, give_back) == 0;
}

uint32_t cplatform_thread_numbers(void) {
  pthread_once(&once, start);
  return count;
}

uint32_t cplatform_thread_numbers_given(void) { return atomic_load_explicit(&given, memory_order_acquire); }

uint32_t cplatform_take_thread_number(void) {
  uint32_t own = cplatform_thread_number();
  if (own != CPLATFORM_NO_THREAD_NUMBER) return own;
  pthread_once(&once, start);
  if (!has_key || is_ending || atomic_load_explicit(&free_count, memory_order_relaxed) == 0) {
    return CPLATFORM_NO_THREAD_NUMBER;
  }
  pthread_mutex_lock(&mutex);
  uint32_t number = 0;
  while (number < count && taken[number / WORD] >> number % WORD & 1) number++;
  if (number == count || pthread_setspecific(key, (void *)(uintptr_t)(number + 1)) != 0) {
    pthread_mutex_unlock(&mutex);
    return CPLATFORM_NO_THREAD_NUMBER;
  }
  taken[number / WORD] |= 1ull << number % WORD;
  atomic_fetch_sub_explicit(&free_count, 1, memory_order_relaxed);
  if (atomic_load_explicit(&given, memory_order_relaxed) <= number) {
    atomic_store_explicit(&given, number + 1, memory_order_release);
  }
  pthread_mutex_unlock(&mutex);
  cplatform_own_thread_number = number + 1;
  return number;
}
