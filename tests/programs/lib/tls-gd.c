/* A library with global-dynamic thread-locals, one of them large, and a constructor. */
__thread long tls_gd_value __attribute__((tls_model("global-dynamic"))) = 0x6d;
__thread char tls_gd_big[100000] __attribute__((tls_model("global-dynamic"))) = "big";
int tls_gd_loaded;

__attribute__((constructor)) static void loaded(void)
{
	tls_gd_loaded++;
	tls_gd_value = 0x6c;
}

long *tls_gd(void)
{
	return &tls_gd_value;
}

char *tls_gd_text(void)
{
	return tls_gd_big;
}
