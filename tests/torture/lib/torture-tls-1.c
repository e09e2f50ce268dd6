/* torture-tls-1.so: see torture-tls.h. */
#define NUMBER 1
#include "torture-tls.h"
