/* bind: see bind.c. */
#ifndef WEFT_SHIM_BIND_H
#define WEFT_SHIM_BIND_H

void bind_all(void) __attribute__((visibility("hidden")));

#endif
