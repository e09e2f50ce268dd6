/*
 * attr-stack-grid.c with 5,000 bytes at a page of their own of thread-local variables.
 */
#define TLS_SIZE 5000
#define TLS_ALIGN 4096
#include "attr-stack-grid.c"
