// The library is linked by Scripts/fuzz.
#include "CFuzzer.h"
