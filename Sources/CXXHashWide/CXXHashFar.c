#include "CXXHashWide.h"

// Processors fetch ahead by themselves up to the end of a page only, and xxHash asks for what is 384 bytes ahead, which is
// hashed before memory has answered.
#define XXH_PREFETCH_DIST 2048

uint64_t cxxhash_far_64(const void *bytes, size_t count, uint64_t seed);

#if defined(__x86_64__)

#include "XXHashAVX2.h"

/// Of bytes that are in none of the processor's caches. AVX2 has to be there.
uint64_t cxxhash_far_64(const void *bytes, size_t count, uint64_t seed) { return with_avx2(bytes, count, seed); }

#else

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t cxxhash_far_64(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}

#endif
