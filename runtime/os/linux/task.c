/*
 * task: what the kernel tells about another thread of this process.
 *
 * /proc/self/task/TID/syscall says "running" for a thread that is runnable, and else the number of the system
 * call it sleeps in: about 3 us with open and close.  (A clock of the thread that stands still proves less, and a
 * descriptor kept open for each thread would be one that the program can see and close.)
 */
#include "runtime/os/os.h"

#include <string.h>

bool os_thread_runs(int tid)
{
	char path[64] = "/proc/self/task/", digits[12], text[16];
	size_t n = strlen(path), d = sizeof(digits);

	do
		digits[--d] = (char)('0' + tid % 10);
	while ((tid /= 10) != 0);
	memcpy(path + n, digits + d, sizeof(digits) - d);
	memcpy(path + n + sizeof(digits) - d, "/syscall", sizeof("/syscall"));
	return os_slurp(path, text, sizeof(text)) <= 0 || text[0] == 'r';
}
