#ifndef CTESTSUPPORT_H
#define CTESTSUPPORT_H

/// posix_spawn_file_actions_addclosefrom_np(3), which the C library declares for GNU sources only; `actions` is a
/// `posix_spawn_file_actions_t *`. No header of the system's that declares structures: they would be this module's, for Swift.
int ctestsupport_close_from(void *actions, int lowest);

#endif
