#ifndef WRITE_LOG_H
#define WRITE_LOG_H

#include <stddef.h>
#include <stdint.h>

/// What one record of a log says was done. A record is eight little-endian words of 64 bits (operation, file, offset,
/// length, flags, bytes of the first text, bytes of the second text, 0), then the two texts.
enum write_log_operation {
  /// A file was made: its path. `file` is its inode number here and everywhere.
  WRITE_LOG_CREATE = 1,
  /// Bytes were written at `offset`: the second text. Flag 1: they were on the disk when the call returned.
  WRITE_LOG_WRITE = 2,
  /// The file's size was set to `length`.
  WRITE_LOG_RESIZE = 3,
  /// The file's size is `length` at least.
  WRITE_LOG_EXTEND = 4,
  /// What was written to the file, or the entries of the directory, are on the disk.
  WRITE_LOG_SYNC = 5,
  /// From one path to another.
  WRITE_LOG_RENAME = 6,
  WRITE_LOG_UNLINK = 7,
  /// A second name: the old path, the new one.
  WRITE_LOG_LINK = 8,
  WRITE_LOG_MAKE_DIRECTORY = 9,
  WRITE_LOG_REMOVE_DIRECTORY = 10,
  /// A remark of the program: its text.
  WRITE_LOG_MARK = 11,
  /// A page of a mapped file as it was at this moment: the second text.
  WRITE_LOG_MAPPED = 12,
  /// Everything on the volume is on the disk.
  WRITE_LOG_SYNC_ALL = 13,
  /// Bytes from `offset` on, `length` of them, became a hole, which is read as zeros. The size stays.
  WRITE_LOG_HOLE = 14,
  /// The same bytes got blocks, as far as they had none. The size, and what is read, stay.
  WRITE_LOG_RESERVE = 15,
};

/// Begins to log what this process does to files below `root`, in the order in which it takes effect. On Linux only,
/// where a program's own functions come before the C library's, for the libraries that it loads too.
///
/// Returns 0, or `errno`.
int write_log_begin(const char *root, const char *log);

/// Adds a remark.
void write_log_mark(const char *text);

/// Adds a page of a file that is mapped, and so written without a call.
void write_log_mapped(uint64_t file, uint64_t offset, const void *bytes, size_t count);

#endif
