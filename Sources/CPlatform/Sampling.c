#include "CPlatform.h"

// The desired nanoseconds between two samples of a busy thread.
static const int64_t wanted = 1000000;
static const uint32_t longest = 1024;

// A thread's first operations touch cold memory and are not representative.
_Thread_local struct cplatform_sampling cplatform_samplings[CPLATFORM_SAMPLINGS] CPLATFORM_THREAD_LOCAL = {
  {64, 64, 0}, {16, 16, 0}, {16, 16, 0},
};

// One step of xorshift. Samples need not be unpredictable, only out of step with the program.
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
  // Adjusts by factors of two, whatever the pause was: after a long pause the next operations are as likely to be timed
  // as those before it.
  if (now - own->last < wanted) {
    if (own->interval < longest) own->interval *= 2;
  } else if (own->interval > 1) {
    own->interval /= 2;
  }
  own->last = now;
  own->left = 1 + draw(2 * own->interval - 1);
}
