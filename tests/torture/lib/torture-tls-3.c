/* torture-tls-3.so: see torture-tls.h. */
#define NUMBER 3
#include "torture-tls.h"
