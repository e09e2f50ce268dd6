/* torture-tls-0.so: see torture-tls.h. */
#define NUMBER 0
#include "torture-tls.h"
