#ifndef ALLOCATED_H
#define ALLOCATED_H

#include <stddef.h>

/// Bytes that are currently allocated; 0 if the allocator cannot tell.
size_t allocated_bytes(void);

#endif
