#define _GNU_SOURCE
#include "CTestSupport.h"

#include <errno.h>
#include <spawn.h>

int ctestsupport_close_from(void *actions, int lowest) {
#ifdef __GLIBC__
  return posix_spawn_file_actions_addclosefrom_np(actions, lowest);
#else
  (void)actions, (void)lowest;
  return ENOSYS;
#endif
}
