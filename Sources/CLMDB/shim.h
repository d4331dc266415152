#ifndef CLMDB_SHIM_H
#define CLMDB_SHIM_H

#include <errno.h>
#include <lmdb.h>
#include <sys/types.h>

#if defined(__linux__)
// The C library declares it for GNU sources only, which Swift does not import it as. posix_fallocate(3) will not do:
// where the file system cannot reserve, it writes, and so might undo what another process writes meanwhile.
extern int fallocate(int descriptor, int mode, off_t offset, off_t length);
#endif

/// Reserves the blocks of a file's first `size` bytes; 0 or `errno`. Where the file system cannot, nothing is done.
static inline int clmdb_reserve(int descriptor, off_t size) {
#if defined(__linux__)
  while (fallocate(descriptor, 0, 0, size) != 0) {
    if (errno == EINTR) continue;
    return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
  }
#else
  (void)descriptor;
  (void)size;
#endif
  return 0;
}

#endif
