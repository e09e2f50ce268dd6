/*
 * log: the formatter and the two ways out, a line (weft_say) and the end of the process
 * (weft_throw).
 *
 * snprintf was rejected: it depends on the locale of the calling G, may allocate, and its glibc
 * frame is over a kilobyte.  Truncation was rejected for reports: a dump of 20,000 Gs must not end
 * in the middle.
 */
#include "runtime/base/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/os/os.h"

static void write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = os_write(fd, p, n);

		if (w == -EINTR)
			continue;
		if (w <= 0) /* closed, or full and non-blocking: the text is lost */
			return;
		p += w;
		n -= (size_t)w;
	}
}

static int fd_of(const struct outbuf *o)
{
	return o->to ? o->to - 1 : 2;
}

/*
 * Makes room: writes up to the last newline, keeps the begun line.  Without a newline, everything.
 */
static void spill(struct outbuf *o)
{
	const char *nl = memrchr(o->data, '\n', o->len);
	size_t n = nl ? (size_t)(nl - o->data) + 1 : o->len;

	write_all(fd_of(o), o->data, n);
	memmove(o->data, o->data + n, o->len - n);
	o->len -= n;
}

static void put(struct outbuf *o, const char *s, size_t n)
{
	while (n > 0) {
		size_t room = OUTBUF_SIZE - o->len;
		size_t k = n < room ? n : room;

		memcpy(o->data + o->len, s, k);
		o->len += k;
		s += k;
		n -= k;
		if (o->len == OUTBUF_SIZE)
			spill(o);
	}
}

struct spec {
	unsigned width;
	bool zero;
	size_t precision; /* of %s only */
	int size;	  /* 0 int, 1 long and size_t, 2 long long */
};

static void pad(struct outbuf *o, char c, size_t have, size_t want)
{
	for (; have < want; have++)
		put(o, &c, 1);
}

static void put_number(struct outbuf *o, const struct spec *sp, uint64_t v, unsigned base, bool neg)
{
	char digits[24];
	size_t i = sizeof(digits);

	do {
		digits[--i] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	if (neg && !sp->zero)
		digits[--i] = '-';
	if (neg && sp->zero)
		put(o, "-", 1);
	pad(o, sp->zero ? '0' : ' ', sizeof(digits) - i + (neg && sp->zero), sp->width);
	put(o, digits + i, sizeof(digits) - i);
}

/* What a name holds (an option, a path, a thread's name) ends no line and sets no terminal's title. */
static void put_plainly(struct outbuf *o, const char *s, size_t n)
{
	for (; n > 0; s++, n--) {
		unsigned char c = (unsigned char)*s;
		char octal[] = { '\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)),
				 (char)('0' + (c & 7)) };
		bool plain = c >= ' ' && c != 0x7f;

		put(o, plain ? s : octal, plain ? 1 : sizeof(octal));
	}
}

static void put_string(struct outbuf *o, const struct spec *sp, const char *s)
{
	size_t n;

	if (!s)
		s = "(null)";
	n = strnlen(s, sp->precision);
	pad(o, ' ', n, sp->width);
	put_plainly(o, s, n);
}

/* The part between % and the letter.  Returns the letter's place. */
static const char *parse_spec(const char *f, struct spec *sp, va_list *ap)
{
	*sp = (struct spec){ .precision = SIZE_MAX };
	if (*f == '0') {
		sp->zero = true;
		f++;
	}
	for (; *f >= '0' && *f <= '9'; f++)
		sp->width = sp->width * 10 + (unsigned)(*f - '0');
	if (f[0] == '.' && f[1] == '*') {
		int p = va_arg(*ap, int);

		sp->precision = p < 0 ? SIZE_MAX : (size_t)p;
		f += 2;
	} else if (f[0] == '.') {
		sp->precision = 0;
		for (f++; *f >= '0' && *f <= '9'; f++)
			sp->precision = sp->precision * 10 + (unsigned)(*f - '0');
	}
	for (; *f == 'l' || *f == 'z'; f++)
		sp->size++;
	return f;
}

static void put_conversion(struct outbuf *o, const struct spec *sp, char letter, va_list *ap)
{
	int64_t d;
	char c;

	switch (letter) {
	case 'd':
	case 'i':
		d = sp->size ? va_arg(*ap, long) : va_arg(*ap, int);
		put_number(o, sp, d < 0 ? -(uint64_t)d : (uint64_t)d, 10, d < 0);
		return;
	case 'u':
	case 'x':
		put_number(o, sp, sp->size ? va_arg(*ap, unsigned long) : va_arg(*ap, unsigned),
			   letter == 'u' ? 10 : 16, false);
		return;
	case 'p':
		put(o, "0x", 2);
		put_number(o, sp, (uintptr_t)va_arg(*ap, void *), 16, false);
		return;
	case 'c':
		c = (char)va_arg(*ap, int);
		put(o, &c, 1);
		return;
	case 's':
		put_string(o, sp, va_arg(*ap, const char *));
		return;
	}
}

void weft_vprint(struct outbuf *o, const char *fmt, va_list args)
{
	va_list ap;

	va_copy(ap, args); /* an array type as a parameter is a pointer: &ap needs the real thing */
	for (;;) {
		const char *start = strchrnul(fmt, '%');
		const char *letter;
		struct spec sp;

		put(o, fmt, (size_t)(start - fmt));
		if (!*start)
			break;
		letter = parse_spec(start + 1, &sp, &ap);
		if (*letter && strchr("diuxpcs", *letter)) {
			put_conversion(o, &sp, *letter, &ap);
			fmt = letter + 1;
		} else if (letter == start + 1 && *letter == '%') {
			put(o, "%", 1);
			fmt = letter + 1;
		} else {
			put(o, start, (size_t)(letter - start));
			fmt = letter;
		}
	}
	va_end(ap);
}

void weft_print(struct outbuf *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	weft_vprint(o, fmt, ap);
	va_end(ap);
}

void weft_flush(struct outbuf *o)
{
	write_all(fd_of(o), o->data, o->len);
	o->len = 0;
}

static uint64_t first_file[2]; /* which fd 2 was */

void weft_log_start(void)
{
	os_fileid(2, first_file);
}

bool weft_may_say(void)
{
	uint64_t id[2];

	return !os_fileid(2, id) && ((id[0] == first_file[0] && id[1] == first_file[1]) || os_is_log(2));
}

static void say(const char *kind, const char *fmt, va_list ap)
{
	struct outbuf o = OUTBUF_INIT;

	/*
	 * The id is asked for each time: after fork or vfork a remembered one would be the
	 * parent's.
	 */
	weft_print(&o, "weft[%d]: %s", os_getpid(), kind);
	weft_vprint(&o, fmt, ap);
	put(&o, "\n", 1);
	weft_flush(&o);
}

void weft_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void weft_throw(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("fatal: ", fmt, ap);
	va_end(ap);
	os_abort();
}
