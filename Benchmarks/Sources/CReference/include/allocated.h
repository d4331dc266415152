#ifndef ALLOCATED_H
#define ALLOCATED_H

#include <stddef.h>

/// Bytes that the allocator has handed out and not got back; 0 where it cannot say.
size_t allocated_bytes(void);

#endif
