#ifndef CHIREDISREFERENCE_SHIM_H
#define CHIREDISREFERENCE_SHIM_H

#include <hiredis.h>

#endif
