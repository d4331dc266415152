#include "CPlatform.h"

// Nanoseconds between two samples of a thread, where it does enough for that.
static const int64_t wanted = 1000000;
static const uint32_t longest = 1024;

// The first operations of a thread meet memory that it has not used before: they stand for none of the others.
_Thread_local struct cplatform_sampling cplatform_samplings[CPLATFORM_SAMPLINGS] CPLATFORM_THREAD_LOCAL = {
  {64, 64, 0}, {16, 16, 0}, {16, 16, 0},
};

// One step of xorshift: the samples of a thread need not be unpredictable, only not in step with what it does.
static uint32_t draw(uint32_t below) {
  static _Thread_local uint64_t state = 0;
  if (state == 0) state = (uintptr_t)&state | 1;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32) % below;
}

void cplatform_did_sample(uint32_t kind, int64_t now) {
  struct cplatform_sampling *own = &cplatform_samplings[kind];
  // By halves and doubles, whatever the pause was: after one that was long the next operations are as likely to be timed as
  // those before it.
  if (now - own->last < wanted) {
    if (own->interval < longest) own->interval *= 2;
  } else if (own->interval > 1) {
    own->interval /= 2;
  }
  own->last = now;
  own->left = 1 + draw(2 * own->interval - 1);
}
