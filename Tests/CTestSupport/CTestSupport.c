#define _GNU_SOURCE
#include "CTestSupport.h"

#include <errno.h>
#include <spawn.h>
#include <sys/xattr.h>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

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

int ctestsupport_refuse_faccessat2(void) {
#if defined(__linux__) && defined(SYS_faccessat2)
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#else
  errno = ENOSYS;
  return -1;
#endif
}
