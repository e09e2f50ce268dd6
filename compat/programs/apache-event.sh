# apache-event: mpm_event, a listener that keeps idle connections in an epoll and a pool that serves, in two children.
#
# Everything but the module is apache.sh's.
. "$weft_root/compat/programs/apache.sh"
recipe_about="mpm_event: a listener with an epoll and a pool, in forked children; reload and end by signals"
apache_mpm=event
# All may come to one child; with more than it has threads it would close connections that rest.
apache_clients=100
