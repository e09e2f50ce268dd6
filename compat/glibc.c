/*
 * glibc: finds libc's functions and data, and its modules' thread-local storage.
 *
 * Rejected: calling libc by plain names with a symbol version (`.symver`): the interposed names of
 * our own library still win inside it.  Rejected: the next definition after ours, as the shim binds:
 * what another preloaded library puts in front of libc is not what is measured here.
 *
 * Must never: be called with a scheduler lock held (dl_iterate_phdr takes the loader's).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "compat/glibc.h"
#include "compat/symbol.h"

#include <gnu/libc-version.h>
#include <string.h>

struct libc_calls libc;
struct libc_data libc_data;
struct layout layout;

static const struct bind {
	void *slot;
	const char *name;
	const char *version; /* NULL: the default version */
	bool optional;
} binds[] = {
	{&libc.create, "pthread_create", NULL, false},
	{&libc.join, "pthread_join", NULL, false},
	{&libc.attr_init, "pthread_attr_init", NULL, false},
	{&libc.attr_destroy, "pthread_attr_destroy", NULL, false},
	{&libc.attr_setstack, "pthread_attr_setstack", NULL, false},
	{&libc.attr_setstacksize, "pthread_attr_setstacksize", NULL, false},
	{&libc.attr_setguardsize, "pthread_attr_setguardsize", NULL, false},
	{&libc.key_create, "pthread_key_create", NULL, false},
	{&libc.key_delete, "pthread_key_delete", NULL, false},
	{&libc.setspecific, "pthread_setspecific", NULL, false},
	{&libc.getspecific, "pthread_getspecific", NULL, false},
	{&libc.setcancelstate, "pthread_setcancelstate", NULL, false},
	{&libc.setcanceltype, "pthread_setcanceltype", NULL, false},
	{&libc.pause, "pause", NULL, false},
	{&libc.register_cancel, "__pthread_register_cancel", NULL, false},
	{&libc.unregister_cancel, "__pthread_unregister_cancel", NULL, false},
	{&libc.cleanup_push, "_pthread_cleanup_push", NULL, true},
	{&libc.cleanup_pop, "_pthread_cleanup_pop", NULL, true},
	{&libc.mutexattr_init, "pthread_mutexattr_init", NULL, false},
	{&libc.mutexattr_settype, "pthread_mutexattr_settype", NULL, false},
	{&libc.mutexattr_setrobust, "pthread_mutexattr_setrobust", NULL, false},
	{&libc.mutex_init, "pthread_mutex_init", NULL, false},
	{&libc.mutex_lock, "pthread_mutex_lock", NULL, false},
	{&libc.mutex_unlock, "pthread_mutex_unlock", NULL, false},
	{&libc.condattr_init, "pthread_condattr_init", NULL, false},
	{&libc.condattr_setpshared, "pthread_condattr_setpshared", NULL, false},
	{&libc.condattr_setclock, "pthread_condattr_setclock", NULL, false},
	{&libc.cond_init, "pthread_cond_init", "GLIBC_2.3.2", false},
	{&libc.cond_destroy, "pthread_cond_destroy", "GLIBC_2.3.2", false},
	{&libc.flockfile, "flockfile", NULL, false},
	{&libc.funlockfile, "funlockfile", NULL, false},
	{&libc.allocate_tls, "_dl_allocate_tls", NULL, false},
	{&libc.init_tls, "_dl_allocate_tls_init", NULL, true},
	{&libc.deallocate_tls, "_dl_deallocate_tls", NULL, false},
	{&libc.static_info, "_dl_get_tls_static_info", NULL, false},
	{&libc.iterate_phdr, "dl_iterate_phdr", NULL, false},
	{&libc.call_tls_dtors, "__call_tls_dtors", NULL, false},
	{&libc.dlerror, "dlerror", NULL, false},
	{&libc.resolver_close, "__res_nclose", NULL, false},
	{&libc.resolver_state, "__res_state", NULL, false},
	{&libc.uselocale, "uselocale", NULL, false},
	{&libc.getrandom, "getrandom", NULL, false},
	{&libc.malloc, "__libc_malloc", NULL, false},
	{&libc.free, "__libc_free", NULL, false},
	{&libc_data.tid, "_thread_db_pthread_tid", NULL, false},
	{&libc_data.list, "_thread_db_pthread_list", NULL, false},
	{&libc_data.cancelhandling, "_thread_db_pthread_cancelhandling", NULL, false},
	{&libc_data.specific, "_thread_db_pthread_specific", NULL, false},
	{&libc_data.stack_used, "_thread_db_rtld_global__dl_stack_used", NULL, false},
	{&libc_data.stack_user, "_thread_db_rtld_global__dl_stack_user", NULL, false},
	{&libc_data.sizeof_pthread, "_thread_db_sizeof_pthread", NULL, false},
	{&libc_data.sizeof_key_data, "_thread_db_sizeof_pthread_key_data", NULL, false},
	{&libc_data.sizeof_level2, "_thread_db_sizeof_pthread_key_data_level2", NULL, false},
	{&libc_data.rtld_global, "_rtld_global", NULL, false},
};

/* "2.36" to 36; -1 when it is no 2.x at all. */
static int minor_of(const char *v)
{
	int n = 0;

	if (v[0] != '2' || v[1] != '.' || v[2] < '0' || v[2] > '9')
		return -1;
	for (v += 2; *v >= '0' && *v <= '9'; v++)
		n = n * 10 + (*v - '0');
	return n;
}

const char *glibc_bind(void)
{
	const char *(*text)(void) =
		(const char *(*)(void))symbol_libc("gnu_get_libc_version", NULL, NULL);
	ptrdiff_t *rseq_offset = symbol_libc("__rseq_offset", NULL, NULL);
	unsigned *rseq_size = symbol_libc("__rseq_size", NULL, NULL);

	if (!text)
		return "not glibc";
	libc_data.version_text = text();
	libc_data.version = minor_of(libc_data.version_text);
	for (size_t i = 0; i < sizeof binds / sizeof binds[0]; i++) {
		void *p = symbol_libc(binds[i].name, binds[i].version, NULL);

		if (!p && !binds[i].optional)
			return strncmp(binds[i].name, "_thread_db", 10)
				       ? binds[i].name
				       : "no thread_db descriptors in libc";
		memcpy(binds[i].slot, &p, sizeof p);
	}
	/* The size of _rtld_global bounds every offset that is taken inside it. */
	symbol_libc("_rtld_global", NULL, &libc_data.rtld_global_size);
	libc_data.rseq_offset = rseq_offset && rseq_size ? *rseq_offset : 0;
	libc_data.rseq_size = rseq_size ? *rseq_size : 0;
	return NULL;
}

char **glibc_environ(void)
{
	extern char **environ;
	char ***args = environ ? NULL : symbol_libc("_dl_argv", NULL, NULL);
	char **end;

	if (!args || !*args)
		return environ;
	for (end = *args; *end; end++)
		;
	return end + 1;
}

struct module_scan {
	struct tls_module *m;
	int n, max;
	size_t with_tls, last_modid; /* objects with thread-locals, and the highest number of one */
	size_t limit;
	char *tp;
	const char *libc_text; /* an address in libc: its module is remembered */
};

static int scan_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module_scan *s = arg;
	struct tls_module m = {0};
	bool is_libc = false;

	if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (uintptr_t)s->libc_text - lo < ph->p_memsz)
			is_libc = true;
		if (ph->p_type == PT_TLS) {
			m.size = ph->p_memsz;
			m.align = ph->p_align;
		}
	}
	if (info->dlpi_tls_modid) {
		s->with_tls++;
		if (info->dlpi_tls_modid > s->last_modid)
			s->last_modid = info->dlpi_tls_modid;
	}
	if (!info->dlpi_tls_modid || !info->dlpi_tls_data || !m.size)
		return 0;
	m.modid = info->dlpi_tls_modid;
	m.offset = s->tp - (char *)info->dlpi_tls_data;
	/* Storage that is not right below the thread pointer came from malloc: a later module. */
	if (m.offset <= 0 || (size_t)m.offset > s->limit || m.size > (size_t)m.offset)
		return 0;
	if (is_libc)
		layout.libc_tls = m;
	if (s->n == s->max)
		return -1;
	s->m[s->n++] = m;
	return 0;
}

int tls_static_modules(struct tls_module *m, int max)
{
	struct module_scan s = {.m = m, .max = max, .tp = arch_getfs()};
	size_t total, align;

	libc.static_info(&total, &align);
	s.limit = total - *libc_data.sizeof_pthread;
	memcpy(&s.libc_text, &libc.create, sizeof s.libc_text);
	if (libc.iterate_phdr(scan_module, &s))
		return -1;
	/* The numbers that are missing belong to auditors (rtld-audit(7)), in namespaces of their own. */
	layout.other_spaces = s.last_modid > s.with_tls;
	return s.n;
}

bool tls_dtv_matches(const char *tp, const struct tls_module *m, int n)
{
	struct {
		uintptr_t val, to_free;
	} const *dtv = *(void **)at(tp, TCBHEAD_DTV);

	if (!dtv)
		return false;
	for (int i = 0; i < n; i++) {
		/* The word before the array's first entry is how many entries it has. */
		if (m[i].modid > dtv[-1].val)
			return false;
		if (dtv[m[i].modid].val != (uintptr_t)tp - (uintptr_t)m[i].offset)
			return false;
	}
	return true;
}
