#ifndef WRITE_LOG_H
#define WRITE_LOG_H

#include <stddef.h>
#include <stdint.h>

/// The operation of a log record. A record is eight little-endian 64-bit words (operation, file, offset, length, flags,
/// bytes of the first text, bytes of the second text, 0), then the two texts.
enum write_log_operation {
  /// A file was created at a path. Here and below, `file` is its inode number.
  WRITE_LOG_CREATE = 1,
  /// Bytes (the second text) were written at `offset`. Flag 1: they were durable when the call returned.
  WRITE_LOG_WRITE = 2,
  WRITE_LOG_RESIZE = 3,
  /// The file's size is `length` at least.
  WRITE_LOG_EXTEND = 4,
  /// The file's data, or the directory's entries, are durable.
  WRITE_LOG_SYNC = 5,
  /// From the first path to the second, as with a hard link.
  WRITE_LOG_RENAME = 6,
  WRITE_LOG_UNLINK = 7,
  WRITE_LOG_LINK = 8,
  WRITE_LOG_MAKE_DIRECTORY = 9,
  WRITE_LOG_REMOVE_DIRECTORY = 10,
  /// A remark of the program.
  WRITE_LOG_MARK = 11,
  /// A mapped file's page at this moment: the second text.
  WRITE_LOG_MAPPED = 12,
  /// Everything on the volume is durable.
  WRITE_LOG_SYNC_ALL = 13,
  /// The range became a hole, which reads as zeros. The size stays.
  WRITE_LOG_HOLE = 14,
  /// Blocks were allocated for the range. The size and the contents stay.
  WRITE_LOG_RESERVE = 15,
};

/// Starts to log this process's changes to files below `root`, in the order of their effects. Linux only, where a
/// program's functions take precedence over the C library's, in loaded libraries too. Returns 0, or `errno`.
int write_log_begin(const char *root, const char *log);

void write_log_mark(const char *text);

/// Logs a page of a mapped file, which is written without a call.
void write_log_mapped(uint64_t file, uint64_t offset, const void *bytes, size_t count);

#endif
