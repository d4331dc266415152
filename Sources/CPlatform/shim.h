#ifndef CPLATFORM_SHIM_H
#define CPLATFORM_SHIM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__linux__)
// The C library declares it for GNU sources only, which Swift does not import it as.
extern int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes);
extern int syncfs(int descriptor);
#endif

/// The lowest address of the calling thread's stack and its size in bytes; not 0: the system does not tell.
static inline int cplatform_stack(uintptr_t *lowest, size_t *size) {
#if defined(__APPLE__)
  *size = pthread_get_stacksize_np(pthread_self());
  *lowest = (uintptr_t)pthread_get_stackaddr_np(pthread_self()) - *size;
  return 0;
#elif defined(__linux__)
  pthread_attr_t attributes;
  int status = pthread_getattr_np(pthread_self(), &attributes);
  if (status != 0) return status;
  void *base = NULL;
  status = pthread_attr_getstack(&attributes, &base, size);
  *lowest = (uintptr_t)base;
  int destroyed = pthread_attr_destroy(&attributes);
  return status != 0 ? status : destroyed;
#else
  return -1;
#endif
}

/// An address on the caller's stack: the real one, also where a sanitizer keeps variables elsewhere.
static inline uintptr_t cplatform_stack_position(void) {
  return (uintptr_t)__builtin_frame_address(0);
}

#endif
