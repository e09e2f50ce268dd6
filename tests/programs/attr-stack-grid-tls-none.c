/*
 * attr-stack-grid.c with a single byte of thread-local variables.
 */
#define TLS_SIZE 1
#define TLS_ALIGN 1
#include "attr-stack-grid.c"
