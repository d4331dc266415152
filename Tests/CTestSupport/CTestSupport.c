#define _GNU_SOURCE
#include "CTestSupport.h"

#include <errno.h>
#include <spawn.h>
#include <sys/xattr.h>

int ctestsupport_close_from(void *actions, int lowest) {
#ifdef __GLIBC__
  return posix_spawn_file_actions_addclosefrom_np(actions, lowest);
#else
  (void)actions, (void)lowest;
  return ENOSYS;
#endif
}

int ctestsupport_set_attribute(const char *path, const char *name, const void *value, size_t count) {
#if defined(__APPLE__)
  return setxattr(path, name, value, count, 0, 0);
#else
  return setxattr(path, name, value, count, 0);
#endif
}
