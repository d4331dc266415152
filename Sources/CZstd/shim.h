#ifndef CZSTD_SHIM_H
#define CZSTD_SHIM_H

#include <zstd.h>

// Macros that Swift does not see.
static inline unsigned long long czstd_contentsize_unknown(void) { return ZSTD_CONTENTSIZE_UNKNOWN; }
static inline unsigned long long czstd_contentsize_error(void) { return ZSTD_CONTENTSIZE_ERROR; }

#endif
