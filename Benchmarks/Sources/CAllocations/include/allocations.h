#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stdint.h>

/// The number of allocations the calling thread has made. Always 0 without glibc, where they cannot be intercepted.
uint64_t allocations_made(void);

#endif
