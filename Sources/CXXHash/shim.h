#ifndef CXXHASH_SHIM_H
#define CXXHASH_SHIM_H

// Swift cannot import xxHash's function-like macros, and a call into the shared library costs as much
// as hashing a short key: inline functions over the header-only form do neither.
#define XXH_INLINE_ALL
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

/// XXH3, 64 bits, of `count` bytes. `bytes` may be null when `count` is 0.
static inline uint64_t cxxhash_64(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}

typedef struct { uint64_t low, high; } cxxhash_digest;

/// XXH3, 128 bits, unseeded: the same in every process.
static inline cxxhash_digest cxxhash_128(const void *bytes, size_t count) {
  XXH128_hash_t hash = XXH3_128bits(bytes, count);
  cxxhash_digest digest = { hash.low64, hash.high64 };
  return digest;
}

/// Asks the processor to load the cache line at `address`; never faults.
static inline void cxxhash_prefetch(const void *address) {
  __builtin_prefetch(address);
}

#endif
