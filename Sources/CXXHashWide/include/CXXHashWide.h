#ifndef CXXHASHWIDE_H
#define CXXHASHWIDE_H

#include <stddef.h>
#include <stdint.h>

/// XXH3, 64 bits, of many bytes: with the widest instructions that this processor has, which is found out when the program
/// runs. For few bytes the inline function of CXXHash is faster.
uint64_t cxxhash_wide_64(const void *bytes, size_t count, uint64_t seed);

#endif
