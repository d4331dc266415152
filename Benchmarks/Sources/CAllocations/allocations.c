#define _GNU_SOURCE
#include "allocations.h"

#include <errno.h>
#include <stdlib.h>

#if defined(__GLIBC__)

// A program's functions take precedence over the C library's, in all loaded libraries.

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local uint64_t made;

void *malloc(size_t size) {
  made++;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  made++;
  return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  made++;
  return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  made++;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  made++;
  void *block = __libc_memalign(alignment, size);
  if (!block) return ENOMEM;
  *result = block;
  return 0;
}

uint64_t allocations_made(void) { return made; }

#else

uint64_t allocations_made(void) { return 0; }

#endif
