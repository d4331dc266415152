// Ways to put long values where they outlive the process, one by one: what a set can cost at the least.
//
//   cc -O2 -o long-values long-values.c -llmdb -lxxhash -lpthread
//   ./long-values 4096 100000; ./long-values 102400 10000      (bytes of a value, and how many)
//
// Each way hashes the value and writes a frame of 128 bytes into a mapped journal, as the cache does. Nothing is
// synchronized. It works in /var/tmp and leaves nothing there.

#define _GNU_SOURCE 1
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { segment_size = 32 << 20, ring_size = 16 << 20, frame_size = 128, frames = 100000, value_header = 48, most = 4096 };

static char directory[] = "/var/tmp/long-values-XXXXXX";
static size_t size;
static int count;
static char *value, *journal;
static double *times;

static void check(int ok, const char *what) {
  if (ok) return;
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(const char *way, double total) {
  qsort(times, count, sizeof *times, compare);
  printf(
    "%-32s mean %7.2f us  median %7.2f  99 %% %7.2f\n", way, total / count / 1e3, times[count / 2] / 1e3,
    times[(int)(count * .99)] / 1e3);
}

static const char *path(const char *name, int number) {
  static _Thread_local char path[300];
  snprintf(path, sizeof path, "%s/%s%d", directory, name, number);
  return path;
}

static int segment(int number) {
  int file = open(path("segment", number), O_RDWR | O_CREAT | O_TRUNC, 0600);
  check(file >= 0, "open");
  check(fallocate(file, FALLOC_FL_KEEP_SIZE, 0, segment_size) == 0, "fallocate");
  return file;
}

static void remove_segments(int end) {
  for (int number = 0; number < end; number++) unlink(path("segment", number));
}

static size_t room(void) { return (size + value_header + 7) & ~(size_t)7; }

static void write_frame(int number, XXH64_hash_t hash) {
  char *frame = journal + (size_t)(number % frames) * frame_size;
  memset(frame, number, frame_size);
  memcpy(frame, &hash, sizeof hash);
}

static void *map(const char *name, size_t length) {
  int file = open(path(name, 0), O_RDWR | O_CREAT, 0600);
  check(file >= 0 && posix_fallocate(file, 0, length) == 0, "posix_fallocate");
  char *memory = mmap(0, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  check(memory != MAP_FAILED, "mmap");
  for (size_t place = 0; place < length; place += 4096) memory[place] = 1;
  close(file);
  unlink(path(name, 0));
  return memory;
}

// The floor: a put and a commit each.
static void lmdb(void) {
  MDB_env *environment;
  MDB_txn *transaction;
  MDB_dbi database;
  mdb_env_create(&environment);
  mdb_env_set_mapsize(environment, 1ull << 36);
  check(mdb_env_open(environment, path("lmdb", 0), MDB_NOSUBDIR | MDB_NOSYNC, 0600) == 0, "mdb_env_open");
  mdb_txn_begin(environment, 0, 0, &transaction);
  mdb_dbi_open(transaction, 0, 0, &database);
  mdb_txn_commit(transaction);
  double start = now();
  for (int number = 0; number < count; number++) {
    double begun = now();
    char key[16];
    snprintf(key, sizeof key, "key%08d", number);
    MDB_val name = {11, key}, data = {size, value};
    mdb_txn_begin(environment, 0, 0, &transaction);
    check(mdb_put(transaction, database, &name, &data, 0) == 0, "mdb_put");
    check(mdb_txn_commit(transaction) == 0, "mdb_txn_commit");
    times[number] = now() - begun;
  }
  report("LMDB, MDB_NOSYNC", now() - start);
  mdb_env_close(environment);
  char lock[310];
  snprintf(lock, sizeof lock, "%s-lock", path("lmdb", 0));
  unlink(lock);
  unlink(path("lmdb", 0));
}

// What the cache does: pwritev to a segment whose blocks are reserved.
static void append(void) {
  int segments = 1, file = segment(0);
  off_t end = 0;
  char header[value_header] = {0};
  double start = now();
  for (int number = 0; number < count; number++) {
    double begun = now();
    XXH64_hash_t hash = XXH3_64bits(value, size);
    if (end + room() > segment_size) {
      close(file);
      file = segment(segments++);
      end = 0;
    }
    struct iovec parts[] = {{header, value_header}, {value, size}};
    check(pwritev(file, parts, 2, end) == (ssize_t)(size + value_header), "pwritev");
    end += room();
    write_frame(number, hash);
    times[number] = now() - begun;
  }
  report("appended by the caller", now() - start);
  close(file);
  remove_segments(segments);
}

static _Atomic int prepared, wanted, is_over;
static int writes_zeros;
static char *maps[most];

// Maps segments ahead of the caller, and has their pages made.
static void *prepare(void *unused) {
  char *zeros = calloc(1, 1 << 20);
  for (int number = 0; number < most; number++) {
    while (number > wanted) {
      if (is_over) return zeros;
      usleep(20);
    }
    int file = segment(number);
    if (writes_zeros) {
      for (off_t place = 0; place < segment_size; place += 1 << 20) check(pwrite(file, zeros, 1 << 20, place) > 0, "pwrite");
    } else {
      check(ftruncate(file, segment_size) == 0, "ftruncate");
    }
    maps[number] = mmap(0, segment_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(maps[number] != MAP_FAILED, "mmap");
    madvise(maps[number], segment_size, MADV_POPULATE_WRITE);
    close(file);
    prepared = number + 1;
  }
  return zeros;
}

static void copy_into_segments(int with_zeros) {
  writes_zeros = with_zeros;
  prepared = is_over = 0;
  wanted = 1;
  pthread_t thread;
  pthread_create(&thread, 0, prepare, 0);
  while (prepared < 2) usleep(100);
  int current = 0;
  size_t end = 0;
  double start = now();
  for (int number = 0; number < count; number++) {
    double begun = now();
    XXH64_hash_t hash = XXH3_64bits(value, size);
    if (end + room() > segment_size) {
      munmap(maps[current++], segment_size);
      end = 0;
      wanted = current + 1;
      while (prepared <= current) usleep(5);
    }
    memcpy(maps[current] + end + value_header, value, size);
    end += room();
    write_frame(number, hash);
    times[number] = now() - begun;
  }
  report(with_zeros ? "copied into pages, zeros first" : "copied into pages, populated", now() - start);
  is_over = 1;
  void *zeros;
  pthread_join(thread, &zeros);
  free(zeros);
  for (int number = current; number < prepared; number++) munmap(maps[number], segment_size);
  remove_segments(prepared);
}

static char *ring;
static _Atomic size_t written, appended;

static void *append_from_ring(void *unused) {
  int segments = 1, file = segment(0);
  off_t end = 0;
  while (1) {
    size_t from = appended, length = written - from;
    if (length == 0) {
      if (is_over) break;
      usleep(20);
      continue;
    }
    if (length > ring_size - from % ring_size) length = ring_size - from % ring_size;
    if (length > 1 << 20) length = 1 << 20;
    if (end + length > segment_size) {
      close(file);
      file = segment(segments++);
      end = 0;
    }
    check(pwrite(file, ring + from % ring_size, length, end) == (ssize_t)length, "pwrite");
    end += length;
    appended = from + length;
  }
  close(file);
  remove_segments(segments);
  return 0;
}

// The caller copies into mapped pages that are used again and again, and another thread appends from there.
static void stage(void) {
  ring = map("ring", ring_size);
  written = appended = is_over = 0;
  pthread_t thread;
  pthread_create(&thread, 0, append_from_ring, 0);
  double start = now();
  for (int number = 0; number < count; number++) {
    double begun = now();
    XXH64_hash_t hash = XXH3_64bits(value, size);
    size_t place = written;
    if (place % ring_size + room() > ring_size) place += ring_size - place % ring_size;
    while (place + room() - appended > ring_size) usleep(2);
    memcpy(ring + place % ring_size + value_header, value, size);
    written = place + room();
    write_frame(number, hash);
    times[number] = now() - begun;
  }
  double end = now();
  is_over = 1;
  pthread_join(thread, 0);
  report("staged, appended by a thread", end - start);
  munmap(ring, ring_size);
}

int main(int arguments, char **argument) {
  if (arguments != 3 || atoi(argument[1]) <= 0 || atoi(argument[2]) <= 0 || atoi(argument[1]) > 1 << 20) {
    fprintf(stderr, "usage: long-values BYTES COUNT\n");
    return 64;
  }
  size = atoi(argument[1]);
  count = atoi(argument[2]);
  check((size_t)count * room() / segment_size < most - 2, "too much");
  value = malloc(size);
  times = malloc(count * sizeof *times);
  for (size_t place = 0; place < size; place++) value[place] = rand();
  check(mkdtemp(directory) != 0, "mkdtemp");
  journal = map("journal", (size_t)frames * frame_size);
  for (int round = 0; round < 2; round++) {
    lmdb();
    append();
    copy_into_segments(0);
    copy_into_segments(1);
    stage();
  }
  rmdir(directory);
}
