#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stdint.h>

/// How many blocks of memory the calling thread has asked for so far. Always 0 where the C library cannot be stood in
/// for, which is everywhere but with glibc.
uint64_t allocations_made(void);

#endif
