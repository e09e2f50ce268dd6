/*
 * A library whose thread-local is reached by the initial-exec model: it must fit into static TLS.
 */
static __thread long value __attribute__((tls_model("initial-exec"))) = 0x1e;
static __thread long zero __attribute__((tls_model("initial-exec")));

long *tls_ie_value(void)
{
	return &value;
}

long *tls_ie_zero(void)
{
	return &zero;
}
