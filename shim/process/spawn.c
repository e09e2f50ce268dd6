/*
 * spawn: libc functions that start a child, and wait for it, in one call.
 *
 * They stay libc's own: the signal rules of system(), the descriptors of popen() and the
 * shared-memory child of posix_spawn() are its business.  Each runs as a whole under handoff; the
 * child gets the signal mask of the kernel thread, which is the calling G's.  fork and exec are
 * elsewhere: they concern the scheduler.
 */
#include "shim/fd/fdevents.h"
#include "shim/process/foreign.h"
#include "shim/signal/sigroute.h"

/* NULL asks whether there is a shell. */
EXPORT int system(const char *command)
{
	fdtable_shared();
	if (!on_g())
		return real.system(command);
	return HANDOFF(real.system(command));
}

EXPORT FILE *popen(const char *command, const char *type)
{
	FILE *stream;

	fdtable_shared();
	if (!on_g())
		return real.popen(command, type);
	lockosthread(LOCK_CHILD, 0);
	stream = HANDOFF(real.popen(command, type));
	unlockosthread(stream != NULL);
	return stream;
}
ALIAS(_IO_popen, popen);

/* libc closes the descriptor itself. */
EXPORT int pclose(FILE *stream)
{
	int r;

	FD_ENDS(stream->_fileno);
	r = on_g() ? HANDOFF(real.pclose(stream)) : real.pclose(stream);
	runtime_child_gone();
	return r;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	pid_t child;
	int r;

	fdtable_shared();
	if (!on_g())
		return real.posix_spawn(pid, path, actions, attr, argv,
					FOREIGN_ENV_FILE(path, envp));
	lockosthread(LOCK_CHILD, 0);
	r = HANDOFF(real.posix_spawn(pid ? pid : &child, path, actions, attr, argv,
				     FOREIGN_ENV_FILE(path, envp)));
	child_made(r == 0 ? pid ? *pid : child : -1);
	return r;
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	pid_t child;
	int r;

	fdtable_shared();
	if (!on_g())
		return real.posix_spawnp(pid, file, actions, attr, argv,
					 FOREIGN_ENV_NAME(file, envp));
	lockosthread(LOCK_CHILD, 0);
	r = HANDOFF(real.posix_spawnp(pid ? pid : &child, file, actions, attr, argv,
				      FOREIGN_ENV_NAME(file, envp)));
	child_made(r == 0 ? pid ? *pid : child : -1);
	return r;
}

/*
 * glibc 2.39 and later.  They return the error; before, the slot of a missing function gives -1
 * with errno ENOSYS.
 */
static int spawn_error(int r)
{
	return r == -1 ? errno : r;
}

EXPORT int pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	int r;

	fdtable_shared();
	if (!on_g())
		return spawn_error(real.pidfd_spawn(pidfd, path, actions, attr, argv,
						    FOREIGN_ENV_FILE(path, envp)));
	lockosthread(LOCK_CHILD, 0);
	r = spawn_error(HANDOFF(real.pidfd_spawn(pidfd, path, actions, attr, argv,
						    FOREIGN_ENV_FILE(path, envp))));
	unlockosthread(r == 0);
	return r;
}

EXPORT int pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	int r;

	fdtable_shared();
	if (!on_g())
		return spawn_error(real.pidfd_spawnp(pidfd, file, actions, attr, argv,
						     FOREIGN_ENV_NAME(file, envp)));
	lockosthread(LOCK_CHILD, 0);
	r = spawn_error(HANDOFF(real.pidfd_spawnp(pidfd, file, actions, attr, argv,
						     FOREIGN_ENV_NAME(file, envp))));
	unlockosthread(r == 0);
	return r;
}
