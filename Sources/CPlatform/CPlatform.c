#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#elif defined(__APPLE__)
#include <stdio.h>
#endif

int cplatform_stack(uintptr_t *lowest, size_t *size) {
#if defined(__APPLE__)
  *size = pthread_get_stacksize_np(pthread_self());
  *lowest = (uintptr_t)pthread_get_stackaddr_np(pthread_self()) - *size;
  return 0;
#elif defined(__linux__)
  pthread_attr_t attributes;
  int status = pthread_getattr_np(pthread_self(), &attributes);
  if (status != 0) return status;
  void *base = NULL;
  status = pthread_attr_getstack(&attributes, &base, size);
  *lowest = (uintptr_t)base;
  int destroyed = pthread_attr_destroy(&attributes);
  return status != 0 ? status : destroyed;
#else
  (void)lowest;
  (void)size;
  return -1;
#endif
}

void cplatform_name_thread(const char *name) {
#if defined(__APPLE__)
  (void)pthread_setname_np(name);
#elif defined(__linux__)
  (void)pthread_setname_np(pthread_self(), name);
#else
  (void)name;
#endif
}

intptr_t cplatform_write(int descriptor, const void *bytes, size_t count) { return write(descriptor, bytes, count); }

int cplatform_close(int descriptor) { return close(descriptor); }

intptr_t cplatform_write_two(int descriptor, const void *first, size_t first_count, const void *second,
                             size_t second_count, int64_t offset) {
  struct iovec parts[2] = {{(void *)first, first_count}, {(void *)second, second_count}};
  return pwritev(descriptor, parts, 2, offset);
}

int cplatform_exchange(int directory, const char *first, const char *second) {
#if defined(__linux__) && defined(SYS_renameat2)
  // RENAME_EXCHANGE by number, because older headers lack it.
  return (int)syscall(SYS_renameat2, directory, first, directory, second, 2);
#elif defined(__APPLE__)
  return renameatx_np(directory, first, directory, second, RENAME_SWAP);
#else
  (void)directory;
  (void)first;
  (void)second;
  errno = ENOSYS;
  return -1;
#endif
}

int cplatform_is_resident(const void *address, size_t size) {
  enum { PAGES = 256 };
#if defined(__APPLE__)
  char resident[PAGES];
#else
  unsigned char resident[PAGES];
#endif
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uintptr_t next = (uintptr_t)address / page * page;
  uintptr_t end = (uintptr_t)address + size;
  while (next < end) {
    size_t pages = (end - next + page - 1) / page;
    if (pages > PAGES) pages = PAGES;
    if (mincore((void *)next, pages * page, resident) != 0) return 0;
    for (size_t index = 0; index < pages; index++) {
      if (!(resident[index] & 1)) return 0;
    }
    next += pages * page;
  }
  return 1;
}

int cplatform_reserve(int descriptor, int64_t size) {
#if defined(__linux__)
  int status = fallocate(descriptor, 0, 0, size);
  return status != 0 && (errno == EOPNOTSUPP || errno == ENOSYS) ? 0 : status;
#else
  (void)descriptor;
  (void)size;
  return 0;
#endif
}

int cplatform_punch(int descriptor, int64_t offset, int64_t size) {
#if defined(__linux__)
  int status = fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size);
  if (status != 0 && errno == ENOSYS) errno = EOPNOTSUPP;
  return status;
#else
  (void)descriptor;
  (void)offset;
  (void)size;
  errno = EOPNOTSUPP;
  return -1;
#endif
}

int cplatform_allocate(int descriptor, int64_t offset, int64_t size) {
#if defined(__APPLE__)
  if (offset != 0) {
    errno = EOPNOTSUPP;
    return -1;
  }
  fstore_t store = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, size, 0};
  return fcntl(descriptor, F_PREALLOCATE, &store) == -1 ? -1 : ftruncate(descriptor, size);
#else
  int status = posix_fallocate(descriptor, offset, size);
  if (status == 0) return 0;
  errno = status;
  return -1;
#endif
}

int cplatform_fsync(int descriptor) {
#if defined(__APPLE__)
  // Not every file system supports it.
  if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
  if (errno != ENOTSUP && errno != EINVAL && errno != ENOTTY) return -1;
#endif
  return fsync(descriptor);
}

int cplatform_syncfs(int descriptor) {
#if defined(__linux__)
  return syncfs(descriptor);
#else
  (void)descriptor;
  sync();
  return 0;
#endif
}

void cplatform_start_writing(int descriptor, int64_t offset, int64_t count) {
#if defined(__linux__)
  // Only a hint: a later synchronization reports failures.
  sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
#else
  (void)descriptor;
  (void)offset;
  (void)count;
#endif
}

int cplatform_is_writable(int descriptor) {
#if defined(__linux__)
  return (int)syscall(SYS_faccessat, descriptor, ".", W_OK | X_OK);
#else
  return faccessat(descriptor, ".", W_OK | X_OK, 0);
#endif
}

int64_t cplatform_seek(int descriptor, int64_t offset, int hole) {
  return lseek(descriptor, offset, hole ? SEEK_HOLE : SEEK_DATA);
}

int64_t cplatform_file_system(int descriptor) {
#if defined(__linux__)
  struct statfs status;
  int result;
  do result = fstatfs(descriptor, &status);
  while (result != 0 && errno == EINTR);
  return result != 0 ? -1 : (int64_t)(uint32_t)status.f_type;
#else
  (void)descriptor;
  errno = ENOTSUP;
  return -1;
#endif
}

void cplatform_disable_copy_on_write(int descriptor) {
#if defined(__linux__)
  // Only Btrfs has the flag on Linux. (XFS copies blocks shared by a reflink, and reserves space for that.)
  if (cplatform_file_system(descriptor) != 0x9123683E) return;
  int flags = 0;
  if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  ioctl(descriptor, FS_IOC_SETFLAGS, &flags);
#else
  (void)descriptor;
#endif
}

int cplatform_byte_lock(int descriptor, int64_t offset, int action) {
#if defined(F_OFD_SETLK)
  struct flock lock = {0};
  lock.l_type = action == 0 ? F_UNLCK : F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  while (fcntl(descriptor, action < 0 ? F_OFD_GETLK : F_OFD_SETLK, &lock) != 0) {
    if (action > 0 && (errno == EAGAIN || errno == EACCES)) return 1;
    if (errno != EINTR) return -1;
  }
  return action < 0 && lock.l_type != F_UNLCK ? 1 : 0;
#else
  (void)descriptor;
  (void)offset;
  (void)action;
  return 0;
#endif
}

int cplatform_is_locked_elsewhere(int descriptor) {
  struct flock lock = {0};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  while (fcntl(descriptor, F_GETLK, &lock) != 0) {
    if (errno != EINTR) return -1;
  }
  return lock.l_type != F_UNLCK ? 1 : 0;
}

intptr_t cplatform_attribute(int descriptor, const char *name, void *bytes, size_t count) {
#if defined(__APPLE__)
  ssize_t length = fgetxattr(descriptor, name, bytes, count, 0, 0);
  int missing = ENOATTR;
#else
  ssize_t length = fgetxattr(descriptor, name, bytes, count);
  int missing = ENODATA;
#endif
  // A file system without extended attributes has none.
  return length < 0 && (errno == missing || errno == ENOTSUP) ? 0 : length;
}
