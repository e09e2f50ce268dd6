/*
 * options: the parser of the WEFT variable.  Whatever the text: each bad entry is told with a part of the text,
 * twice the same number of them, and a text option stays terminated.
 */
#include "tests/fuzz/fuzz.h"

#include "runtime/base/options.c"

static const char *text_now;
static size_t text_len;

static void told(const char *entry, int len, const char *why)
{
	must(why && *why && len >= 0);
	must(entry >= text_now && entry + len <= text_now + text_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct weft_options a, b;
	char *text = malloc(size + 1);

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	text_now = text;
	text_len = strlen(text);
	weft_options_default(&a);
	weft_options_default(&b);
	must(weft_options_parse(&a, text, told) == weft_options_parse(&b, text, told));
	must(!memcmp(&a, &b, sizeof(a)));
#define OPT(name, type, dflt, help) CHECK_##type(a.name);
#define CHECK_uint(v)
#define CHECK_bool(v)
#define CHECK_size(v)
#define CHECK_msec(v)
#define CHECK_nsec(v)
#define CHECK_sig(v) must((v) >= 0 && (v) <= 64)
#define CHECK_word(v)
#define CHECK_set(v)
#define CHECK_str(v) must(memchr(v, 0, sizeof(v)) != NULL)
#include "runtime/base/options.def"
	free(text);
	return 0;
}
