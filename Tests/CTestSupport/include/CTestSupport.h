#ifndef CTESTSUPPORT_H
#define CTESTSUPPORT_H

#include <stddef.h>

/// posix_spawn_file_actions_addclosefrom_np(3), which the C library declares for GNU sources only; `actions` is a
/// `posix_spawn_file_actions_t *`. No header of the system's that declares structures: they would be this module's, for Swift.
int ctestsupport_close_from(void *actions, int lowest);

/// setxattr(2): 0, or -1.
int ctestsupport_set_attribute(const char *path, const char *name, const void *value, size_t count);

#endif
