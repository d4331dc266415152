#include "CXXHashWide.h"

uint64_t cxxhash_far_64(const void *bytes, size_t count, uint64_t seed);

/// From this many bytes on they are rather in memory than in one of the processor's caches.
static const size_t far_count = 32 << 10;

#if defined(__x86_64__)

#include "XXHashAVX2.h"

// The same once more, for processors without AVX2.
uint64_t cxxhash_narrow_64(const void *bytes, size_t count, uint64_t seed);

uint64_t cxxhash_wide_64(const void *bytes, size_t count, uint64_t seed) {
  if (!__builtin_cpu_supports("avx2")) return cxxhash_narrow_64(bytes, count, seed);
  return count < far_count ? with_avx2(bytes, count, seed) : cxxhash_far_64(bytes, count, seed);
}

#else

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t cxxhash_wide_64(const void *bytes, size_t count, uint64_t seed) {
  return count < far_count ? XXH3_64bits_withSeed(bytes, count, seed) : cxxhash_far_64(bytes, count, seed);
}

#endif
