#include "reference.h"

#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

struct reference {
  MDB_env *env;
  MDB_dbi dbi;
  MDB_txn *reader;
  char *copy;
  size_t capacity, copied;
};

const unsigned reference_no_sync = MDB_NOSYNC, reference_no_meta_sync = MDB_NOMETASYNC;
const int reference_not_found = MDB_NOTFOUND;

int reference_open(const char *directory, unsigned flags, size_t longest, reference **result) {
  reference *self = calloc(1, sizeof *self);
  MDB_txn *txn;
  int status = self && (self->copy = malloc(longest)) ? 0 : ENOMEM;
  if (status == 0) self->capacity = longest;
  if (status == 0) status = mdb_env_create(&self->env);
  if (status == 0) status = mdb_env_set_mapsize(self->env, (size_t)16 << 30);
  if (status == 0) status = mdb_env_open(self->env, directory, flags | MDB_NOTLS, 0600);
  if (status == 0) status = mdb_txn_begin(self->env, NULL, 0, &txn);
  if (status == 0 && (status = mdb_dbi_open(txn, NULL, 0, &self->dbi)) != 0) mdb_txn_abort(txn);
  else if (status == 0) status = mdb_txn_commit(txn);
  if (status == 0 && (status = mdb_txn_begin(self->env, NULL, MDB_RDONLY, &self->reader)) == 0) {
    mdb_txn_reset(self->reader);
    *result = self;
  } else {
    reference_close(self);
  }
  return status;
}

void reference_close(reference *self) {
  if (!self) return;
  if (self->reader) mdb_txn_abort(self->reader);
  if (self->env) mdb_env_close(self->env);
  free(self->copy);
  free(self);
}

int reference_put(
  reference *self, const reference_key *keys, size_t count, size_t batch, const void *value, size_t size
) {
  for (size_t i = 0; i < count;) {
    MDB_txn *txn;
    int status = mdb_txn_begin(self->env, NULL, 0, &txn);
    if (status) return status;
    for (size_t end = i + batch < count ? i + batch : count; i < end; i++) {
      MDB_val k = { keys[i].count, (void *)keys[i].bytes };
      MDB_val v = { size, (void *)value };
      if ((status = mdb_put(txn, self->dbi, &k, &v, 0))) {
        mdb_txn_abort(txn);
        return status;
      }
    }
    if ((status = mdb_txn_commit(txn))) return status;
  }
  return 0;
}

static int get(reference *self, const reference_key *keys, size_t count, int expected) {
  for (size_t i = 0; i < count; i++) {
    MDB_val k = { keys[i].count, (void *)keys[i].bytes };
    MDB_val v = { 0, NULL };
    int status = mdb_txn_renew(self->reader);
    if (status) return status;
    status = mdb_get(self->reader, self->dbi, &k, &v);
    if (status == expected && v.mv_size <= self->capacity) {
      if (status == 0) memcpy(self->copy, v.mv_data, self->copied = v.mv_size);
    } else if (status == 0) {
      status = ENOBUFS;
    }
    mdb_txn_reset(self->reader);
    if (status != expected) return status;
  }
  return 0;
}

int reference_get(reference *self, const reference_key *keys, size_t count) { return get(self, keys, count, 0); }

int reference_get_missing(reference *self, const reference_key *keys, size_t count) {
  return get(self, keys, count, MDB_NOTFOUND);
}

const void *reference_last_value(const reference *self, size_t *size) {
  *size = self->copied;
  return self->copy;
}

int reference_remove(reference *self, const reference_key *keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    MDB_txn *txn;
    MDB_val k = { keys[i].count, (void *)keys[i].bytes };
    int status = mdb_txn_begin(self->env, NULL, 0, &txn);
    if (status) return status;
    if ((status = mdb_del(txn, self->dbi, &k, NULL))) {
      mdb_txn_abort(txn);
      return status;
    }
    if ((status = mdb_txn_commit(txn))) return status;
  }
  return 0;
}

void reference_version(int version[3]) { mdb_version(&version[0], &version[1], &version[2]); }
