#ifndef REFERENCE_H
#define REFERENCE_H

#include <stddef.h>

/// What LMDB does without anything around it: the floor that the cache is held against.
/// Every function returns 0 or the first status that was not expected.

typedef struct reference reference;

typedef struct {
  const void *bytes;
  size_t count;
} reference_key;

/// The flags are those of `mdb_env_open`, beside MDB_NOTLS. `longest` is the length of the longest value to be read.
int reference_open(const char *directory, unsigned flags, size_t longest, reference **result);
void reference_close(reference *);

/// Puts the keys in transactions of `batch`, in the order in which they are given.
int reference_put(
  reference *, const reference_key *keys, size_t count, size_t batch, const void *value, size_t size);

/// Renews a transaction, gets, copies the value, resets: for every key.
int reference_get(reference *, const reference_key *keys, size_t count);

/// The same for keys that are not there.
int reference_get_missing(reference *, const reference_key *keys, size_t count);

/// The last value that `reference_get` copied, until the next call.
const void *reference_last_value(const reference *, size_t *size);

/// Deletes every key in a transaction of its own.
int reference_remove(reference *, const reference_key *keys, size_t count);

/// Major, minor, patch.
void reference_version(int version[3]);

extern const unsigned reference_no_sync, reference_no_meta_sync;
/// The status of a key that is not there.
extern const int reference_not_found;

#endif
