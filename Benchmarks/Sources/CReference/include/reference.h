#ifndef REFERENCE_H
#define REFERENCE_H

#include <stddef.h>

/// Plain LMDB: the lower bound for the cache.
/// Every function returns 0 or the first unexpected status.

typedef struct reference reference;

typedef struct {
  const void *bytes;
  size_t count;
} reference_key;

/// Takes the flags of `mdb_env_open`, and adds MDB_NOTLS. `longest` is the length of the longest value to read.
int reference_open(const char *directory, unsigned flags, size_t longest, reference **result);
void reference_close(reference *);

/// Puts the keys in the given order, in transactions of `batch` keys.
int reference_put(
  reference *, const reference_key *keys, size_t count, size_t batch, const void *value, size_t size);

/// Renews a transaction, gets, copies the value, resets: for every key.
int reference_get(reference *, const reference_key *keys, size_t count);

/// Looks up keys that do not exist.
int reference_get_missing(reference *, const reference_key *keys, size_t count);

/// The last value that `reference_get` copied, until the next call.
const void *reference_last_value(const reference *, size_t *size);

/// Deletes every key in a separate transaction.
int reference_remove(reference *, const reference_key *keys, size_t count);

/// Major, minor, patch.
void reference_version(int version[3]);

extern const unsigned reference_no_sync, reference_no_meta_sync;
extern const int reference_not_found;

#endif
