#ifndef CHIREDIS_SHIM_H
#define CHIREDIS_SHIM_H

// In the path that pkg-config tells, where it is asked, there are the headers themselves.
#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>
#else
#include <hiredis.h>
#endif

#endif
