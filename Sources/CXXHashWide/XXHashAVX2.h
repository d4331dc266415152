// xxHash with AVX2. What a compiler may use for x86-64 is SSE2, a third as fast. (ARM has NEON in any case.) The headers
// that xxHash needs come first: their functions are nobody's to change.

#include <immintrin.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#define XXH_VECTOR 2 /* XXH_AVX2 */
#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t with_avx2(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}
#pragma clang attribute pop
