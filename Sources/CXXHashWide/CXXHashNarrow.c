#include "CXXHashWide.h"

#if defined(__x86_64__)

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t cxxhash_narrow_64(const void *bytes, size_t count, uint64_t seed);

/// With what every processor has.
uint64_t cxxhash_narrow_64(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}

#endif
