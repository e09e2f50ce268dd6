/* torture-tls-2.so: see torture-tls.h. */
#define NUMBER 2
#include "torture-tls.h"
