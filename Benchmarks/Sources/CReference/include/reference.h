#ifndef REFERENCE_H
#define REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/// What LMDB does without anything around it: the floor that the cache is held against.
/// Every function returns the nanoseconds it took, or a negative LMDB status.

typedef struct reference reference;

typedef struct {
  const void *bytes;
  size_t count;
} reference_key;

/// The flags are those of `mdb_env_open`, beside MDB_NOTLS.
reference *reference_open(const char *directory, unsigned flags);
void reference_close(reference *);

/// Puts every key in a transaction of its own.
int64_t reference_put_each(reference *, const reference_key *keys, size_t count, const void *value, size_t size);

/// Puts the keys in transactions of `batch`, in the order in which they are given.
int64_t reference_put_batches(
  reference *, const reference_key *keys, size_t count, size_t batch, const void *value, size_t size);

/// Renews a transaction, gets, copies the value, resets: for every key.
int64_t reference_get_each(reference *, const reference_key *keys, size_t count);

#endif
