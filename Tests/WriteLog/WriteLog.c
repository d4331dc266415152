#define _GNU_SOURCE
#include "WriteLog.h"

#include <errno.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
// Sanitizers interpose the same functions.
#define WRITE_LOG_IS_OFF
#endif
#endif

#if !defined(__linux__) || defined(WRITE_LOG_IS_OFF)

int write_log_begin(const char *root, const char *log) { return ENOSYS; }
void write_log_mark(const char *text) {}
void write_log_mapped(uint64_t file, uint64_t offset, const void *bytes, size_t count) {}

#else

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Held from before an operation until it is logged: the log has the order of the effects.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int log_descriptor = -1;
static char root[PATH_MAX];
static size_t root_length;

// For each descriptor: 0 outside the root, 1 inside it, 3 if every write also waits for the disk.
enum { MAXIMUM = 65536 };
static atomic_uchar tracked[MAXIMUM];

static void *real(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) abort();
  return function;
}

#define REAL(name) \
  ((__typeof__(&name))({ \
    static _Atomic(void *) known; \
    void *function = atomic_load_explicit(&known, memory_order_relaxed); \
    if (!function) { \
      function = real(#name); \
      atomic_store_explicit(&known, function, memory_order_relaxed); \
    } \
    function; \
  }))

static int is_on(void) { return atomic_load_explicit(&log_descriptor, memory_order_relaxed) >= 0; }

static int is_below(const char *path) {
  return is_on() && path && strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || !path[root_length]);
}

// Resolves a path relative to an open directory, or through one of its descriptors.
static const char *resolve(int directory, const char *path, char *buffer) {
  static const char own[] = "/proc/self/fd/";
  if (!is_on() || !path) return path;
  const char *rest = path;
  if (strncmp(path, own, sizeof own - 1) == 0) {
    char *end;
    directory = (int)strtol(path + sizeof own - 1, &end, 10);
    if (*end != '/' && *end != '\0') return path;
    rest = *end ? end + 1 : end;
  } else if (path[0] == '/' || directory == AT_FDCWD) {
    return path;
  }
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  ssize_t length = readlink(link, buffer, PATH_MAX - 1);
  if (length < 0) return path;
  buffer[length] = '\0';
  if (*rest && strcmp(rest, ".") != 0) snprintf(buffer + length, (size_t)(PATH_MAX - length), "/%s", rest);
  return buffer;
}

static int flags_of(int descriptor) {
  return is_on() && descriptor >= 0 && descriptor < MAXIMUM ? atomic_load(&tracked[descriptor]) : 0;
}

static uint64_t file_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

static uint64_t file_at(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 ? status.st_ino : 0;
}

static void put(const void *bytes, size_t count) {
  const char *rest = bytes;
  while (count > 0) {
    long done = syscall(SYS_write, atomic_load(&log_descriptor), rest, count);
    if (done < 0) {
      if (errno == EINTR) continue;
      // An incomplete log would report false failures.
      fprintf(stderr, "The log of writes cannot be written: %s\n", strerror(errno));
      abort();
    }
    rest += done;
    count -= (size_t)done;
  }
}

static void add(
    int operation, uint64_t file, uint64_t offset, uint64_t length, uint64_t flags, const char *first,
    const void *second, size_t count) {
  int saved = errno;
  size_t first_length = first ? strlen(first) : 0;
  uint64_t head[8] = {(uint64_t)operation, file, offset, length, flags, first_length, count, 0};
  put(head, sizeof head);
  if (first_length) put(first, first_length);
  if (count) put(second, count);
  errno = saved;
}

int write_log_begin(const char *path, const char *log) {
  if (!realpath(path, root)) return errno;
  root_length = strlen(root);
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return errno;
  atomic_store(&log_descriptor, descriptor);
  return 0;
}

void write_log_mark(const char *text) {
  if (!is_on()) return;
  pthread_mutex_lock(&lock);
  add(WRITE_LOG_MARK, 0, 0, 0, 0, text, NULL, 0);
  pthread_mutex_unlock(&lock);
}

void write_log_mapped(uint64_t file, uint64_t offset, const void *bytes, size_t count) {
  if (!is_on()) return;
  pthread_mutex_lock(&lock);
  add(WRITE_LOG_MAPPED, file, offset, count, 0, NULL, bytes, count);
  pthread_mutex_unlock(&lock);
}

// Opening and closing

static void opened(int descriptor, const char *path, uint64_t before, int flags) {
  if (descriptor < 0) return;
  uint64_t file = file_of(descriptor);
  if (before == 0 && (flags & O_CREAT)) add(WRITE_LOG_CREATE, file, 0, 0, 0, path, NULL, 0);
  if (before != 0 && (flags & O_TRUNC)) add(WRITE_LOG_RESIZE, file, 0, 0, 0, NULL, NULL, 0);
  if (descriptor < MAXIMUM) atomic_store(&tracked[descriptor], (flags & O_DSYNC) ? 3 : 1);
}

// Logs by the resolved path, but opens the file as requested.
static int opening(int (*next)(int, const char *, int, ...), int directory, const char *name, int flags, mode_t mode) {
  char buffer[PATH_MAX];
  const char *path = resolve(directory, name, buffer);
  // A second descriptor of a directory is for listing or locking it, and is closed by closedir(3).
  if (!is_below(path) || strcmp(name, ".") == 0) {
    int descriptor = next(directory, name, flags, mode);
    // The number may stem from another file whose close was not seen.
    if (descriptor >= 0 && descriptor < MAXIMUM) atomic_store(&tracked[descriptor], 0);
    return descriptor;
  }
  pthread_mutex_lock(&lock);
  uint64_t before = file_at(path);
  int descriptor = next(directory, name, flags, mode);
  opened(descriptor, path, before, flags);
  pthread_mutex_unlock(&lock);
  return descriptor;
}

#define OPEN(name, next, directory, ...) \
  int name(__VA_ARGS__, int flags, ...) { \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
      va_list arguments; \
      va_start(arguments, flags); \
      mode = va_arg(arguments, mode_t); \
      va_end(arguments); \
    } \
    return opening(REAL(next), directory, path, flags, mode); \
  }

OPEN(open, openat, AT_FDCWD, const char *path)
OPEN(open64, openat64, AT_FDCWD, const char *path)
OPEN(openat, openat, directory, int directory, const char *path)
OPEN(openat64, openat64, directory, int directory, const char *path)

int creat(const char *path, mode_t mode) {
  return opening(REAL(openat), AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int close(int descriptor) {
  if (flags_of(descriptor)) atomic_store(&tracked[descriptor], 0);
  return REAL(close)(descriptor);
}

// Writing

static ssize_t wrote(int descriptor, off_t offset, const struct iovec *parts, int count, ssize_t done) {
  if (done <= 0) return done;
  uint64_t flags = flags_of(descriptor) == 3 ? 1 : 0;
  char *bytes = malloc((size_t)done);
  if (!bytes) abort();
  size_t used = 0;
  for (int index = 0; index < count && used < (size_t)done; index++) {
    size_t length = parts[index].iov_len;
    if (length > (size_t)done - used) length = (size_t)done - used;
    memcpy(bytes + used, parts[index].iov_base, length);
    used += length;
  }
  add(WRITE_LOG_WRITE, file_of(descriptor), (uint64_t)offset, used, flags, NULL, bytes, used);
  free(bytes);
  return done;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  if (!flags_of(descriptor)) return REAL(writev)(descriptor, parts, count);
  pthread_mutex_lock(&lock);
  ssize_t done = REAL(writev)(descriptor, parts, count);
  off_t offset = done > 0 ? lseek(descriptor, 0, SEEK_CUR) - done : 0;
  wrote(descriptor, offset, parts, count, done);
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (!flags_of(descriptor)) return REAL(write)(descriptor, bytes, count);
  struct iovec part = {(void *)bytes, count};
  return writev(descriptor, &part, 1);
}

#define WRITE_AT_OFFSET(one, several, type) \
  ssize_t several(int descriptor, const struct iovec *parts, int count, type offset) { \
    if (!flags_of(descriptor)) return REAL(several)(descriptor, parts, count, offset); \
    pthread_mutex_lock(&lock); \
    ssize_t done = wrote(descriptor, offset, parts, count, REAL(several)(descriptor, parts, count, offset)); \
    pthread_mutex_unlock(&lock); \
    return done; \
  } \
  ssize_t one(int descriptor, const void *bytes, size_t count, type offset) { \
    if (!flags_of(descriptor)) return REAL(one)(descriptor, bytes, count, offset); \
    struct iovec part = {(void *)bytes, count}; \
    return several(descriptor, &part, 1, offset); \
  }

WRITE_AT_OFFSET(pwrite, pwritev, off_t)
WRITE_AT_OFFSET(pwrite64, pwritev64, off64_t)

// Sizes and synchronization

// A function of a descriptor whose success `log` logs.
#define LOGGED(name, parameters, arguments, log) \
  int name parameters { \
    if (!flags_of(descriptor)) return REAL(name) arguments; \
    pthread_mutex_lock(&lock); \
    int status = REAL(name) arguments; \
    if (status == 0) log; \
    pthread_mutex_unlock(&lock); \
    return status; \
  }

static void note(int operation, int descriptor, off_t offset, off_t length) {
  add(operation, file_of(descriptor), (uint64_t)offset, (uint64_t)length, 0, NULL, NULL, 0);
}

// Unknown modes abort, or the log would report false failures.
static void reserved(int descriptor, int mode, off_t offset, off_t length) {
  switch (mode) {
    case 0: return note(WRITE_LOG_EXTEND, descriptor, 0, offset + length);
    // Allocates blocks without changing readable data.
    case FALLOC_FL_KEEP_SIZE: return note(WRITE_LOG_RESERVE, descriptor, offset, length);
    case FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE: return note(WRITE_LOG_HOLE, descriptor, offset, length);
    default:
      fprintf(stderr, "The log of writes does not know fallocate(2) with the mode %d.\n", mode);
      abort();
  }
}

#define RESIZE(truncate, reserve, allocate, type) \
  LOGGED(truncate, (int descriptor, type size), (descriptor, size), note(WRITE_LOG_RESIZE, descriptor, 0, size)) \
  LOGGED( \
      reserve, (int descriptor, type offset, type length), (descriptor, offset, length), \
      reserved(descriptor, 0, offset, length)) \
  LOGGED( \
      allocate, (int descriptor, int mode, type offset, type length), (descriptor, mode, offset, length), \
      reserved(descriptor, mode, offset, length))

RESIZE(ftruncate, posix_fallocate, fallocate, off_t)
RESIZE(ftruncate64, posix_fallocate64, fallocate64, off64_t)

// sync_file_range(2) guarantees nothing after a power cut, and msync(2) is unused here.
LOGGED(fsync, (int descriptor), (descriptor), note(WRITE_LOG_SYNC, descriptor, 0, 0))
LOGGED(fdatasync, (int descriptor), (descriptor), note(WRITE_LOG_SYNC, descriptor, 0, 0))
LOGGED(syncfs, (int descriptor), (descriptor), add(WRITE_LOG_SYNC_ALL, 0, 0, 0, 0, NULL, NULL, 0))

// Names

int renameat(int source, const char *from, int destination, const char *to) {
  char buffer[PATH_MAX], other[PATH_MAX];
  const char *old = resolve(source, from, buffer);
  const char *new = resolve(destination, to, other);
  if (!is_below(old) && !is_below(new)) return REAL(renameat)(source, from, destination, to);
  pthread_mutex_lock(&lock);
  uint64_t file = file_at(old);
  int status = REAL(renameat)(source, from, destination, to);
  if (status == 0) add(WRITE_LOG_RENAME, file, 0, 0, 0, old, new, strlen(new));
  pthread_mutex_unlock(&lock);
  return status;
}

// A function of a name in a directory whose success is logged.
#define LOGGED_AT(function, parameters, arguments, operation) \
  int function parameters { \
    char buffer[PATH_MAX]; \
    const char *path = resolve(directory, name, buffer); \
    if (!is_below(path)) return REAL(function) arguments; \
    pthread_mutex_lock(&lock); \
    uint64_t before = file_at(path); \
    int status = REAL(function) arguments; \
    if (status == 0) add(operation, before ? before : file_at(path), 0, 0, 0, path, NULL, 0); \
    pthread_mutex_unlock(&lock); \
    return status; \
  }

LOGGED_AT(
    unlinkat, (int directory, const char *name, int flags), (directory, name, flags),
    flags & AT_REMOVEDIR ? WRITE_LOG_REMOVE_DIRECTORY : WRITE_LOG_UNLINK)
LOGGED_AT(
    mkdirat, (int directory, const char *name, mode_t mode), (directory, name, mode), WRITE_LOG_MAKE_DIRECTORY)

int link(const char *from, const char *to) {
  if (!is_below(from) && !is_below(to)) return REAL(link)(from, to);
  pthread_mutex_lock(&lock);
  int status = REAL(link)(from, to);
  if (status == 0) add(WRITE_LOG_LINK, file_at(to), 0, 0, 0, from, to, strlen(to));
  pthread_mutex_unlock(&lock);
  return status;
}

int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

#endif
