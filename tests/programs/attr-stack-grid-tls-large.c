/*
 * attr-stack-grid.c with 40,000 bytes of thread-local variables.
 */
#define TLS_SIZE 40000
#define TLS_ALIGN 64
#include "attr-stack-grid.c"
