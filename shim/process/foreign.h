/* foreign: see foreign.c. */
#ifndef WEFT_SHIM_FOREIGN_H
#define WEFT_SHIM_FOREIGN_H

#include "shim/syscall/rawsyscall.h"

/* The file that execveat(dir, path, flags) would start cannot have this library in it. */
bool foreign_file(int dir, const char *path, int flags) hidden;

/* The same for a name that is searched in PATH when it has no slash. */
bool foreign_name(const char *name) hidden;

/* Bytes that foreign_leave_out() needs; 0: the environment is right as it is. */
size_t foreign_room(char *const envp[]) hidden;

/* A copy of the environment without this library in LD_PRELOAD. */
char **foreign_leave_out(void *room, char *const envp[]) hidden;

/* The environment for such a file, in the caller's frame: the caller may be the child of a vfork. */
#define FOREIGN_ENV(foreign, envp)                                                                 \
	({                                                                                         \
		char *const *env_ = (envp);                                                        \
		size_t room_ = (foreign) ? foreign_room(env_) : 0;                                 \
		room_ ? foreign_leave_out(__builtin_alloca(room_), env_) : (char **)(uintptr_t)env_; \
	})
#define FOREIGN_ENV_FILE(path, envp) FOREIGN_ENV(foreign_file(AT_FDCWD, path, 0), envp)
#define FOREIGN_ENV_NAME(name, envp) FOREIGN_ENV(foreign_name(name), envp)

#endif
