#include "allocated.h"

#if defined(__linux__)
#include <malloc.h>
#endif

size_t allocated_bytes(void) {
#if defined(__GLIBC__)
  struct mallinfo2 information = mallinfo2();
  return information.uordblks + information.hblkhd;
#else
  return 0;
#endif
}
