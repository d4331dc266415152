#include "reference.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct reference {
  MDB_env *env;
  MDB_dbi dbi;
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

reference *reference_open(const char *directory, unsigned flags) {
  reference *self = calloc(1, sizeof *self);
  MDB_txn *txn;
  if (mdb_env_create(&self->env) != 0) return NULL;
  mdb_env_set_mapsize(self->env, (size_t)16 << 30);
  if (mdb_env_open(self->env, directory, flags | MDB_NOTLS, 0600) != 0) return NULL;
  if (mdb_txn_begin(self->env, NULL, 0, &txn) != 0) return NULL;
  if (mdb_dbi_open(txn, NULL, 0, &self->dbi) != 0) return NULL;
  if (mdb_txn_commit(txn) != 0) return NULL;
  return self;
}

void reference_close(reference *self) {
  mdb_env_close(self->env);
  free(self);
}

int64_t reference_put_batches(
  reference *self, const reference_key *keys, size_t count, size_t batch, const void *value, size_t size
) {
  int64_t start = now();
  for (size_t i = 0; i < count;) {
    MDB_txn *txn;
    int status = mdb_txn_begin(self->env, NULL, 0, &txn);
    if (status) return status;
    for (size_t end = i + batch < count ? i + batch : count; i < end; i++) {
      MDB_val k = { keys[i].count, (void *)keys[i].bytes };
      MDB_val v = { size, (void *)value };
      if ((status = mdb_put(txn, self->dbi, &k, &v, 0))) return status;
    }
    if ((status = mdb_txn_commit(txn))) return status;
  }
  return now() - start;
}

int64_t reference_put_each(
  reference *self, const reference_key *keys, size_t count, const void *value, size_t size
) {
  return reference_put_batches(self, keys, count, 1, value, size);
}

int64_t reference_get_each(reference *self, const reference_key *keys, size_t count) {
  MDB_txn *txn;
  char copy[65536];
  volatile char sink = 0;
  int status = mdb_txn_begin(self->env, NULL, MDB_RDONLY, &txn);
  if (status) return status;
  mdb_txn_reset(txn);
  int64_t start = now();
  for (size_t i = 0; i < count; i++) {
    MDB_val k = { keys[i].count, (void *)keys[i].bytes };
    MDB_val v;
    if ((status = mdb_txn_renew(txn))) return status;
    if ((status = mdb_get(txn, self->dbi, &k, &v))) return status;
    memcpy(copy, v.mv_data, v.mv_size);
    sink += copy[v.mv_size - 1];
    mdb_txn_reset(txn);
  }
  int64_t taken = now() - start;
  mdb_txn_abort(txn);
  return taken;
}
