# mariadb: a kernel thread per connection in the plainest configuration, and dozens of its own.
#
# Point queries for the figure, transactions for the truth: every table is checked afterwards.
recipe_packages="mariadb-server sysbench"
recipe_commands=(mariadbd mariadb mariadb-install-db sysbench)
recipe_about="a thread per connection, InnoDB's own threads, transactions and recovery files"
recipe_better=higher

mariadb_sql() {
	timeout 30 mariadb --no-defaults -h 127.0.0.1 -P "$mariadb_port" -u root -N -e "$1"
}

mariadb_sysbench() {
	bounded "$1" sysbench "$2" --db-driver=mysql --mysql-host=127.0.0.1 \
		--mysql-port="$mariadb_port" --mysql-user=root --mysql-db=test --tables=2 \
		--table-size=5000 "${@:3}"
}

# The empty data directory is made once, natively; each run has its own copy.
mariadb_template() {
	[ ! -d "$scratch_dir/mariadb-empty" ] || return 0
	if ! mariadb-install-db --no-defaults --user="$1" --datadir="$scratch_dir/mariadb-empty" \
		--auth-root-authentication-method=normal >"$scratch_dir/install" 2>&1; then
		why="mariadb-install-db: $(tail -n 1 "$scratch_dir/install")"
		rm -rf "$scratch_dir/mariadb-empty"
		return 1
	fi
}

mariadb_load() {
	local log=$scratch_dir/sysbench

	why=
	mariadb_sql "CREATE DATABASE IF NOT EXISTS test" >/dev/null || why="cannot connect"
	[ -n "$why" ] || mariadb_sysbench 60 oltp_read_write prepare >"$log" 2>&1 || why="prepare: $why"
	[ -n "$why" ] || mariadb_sysbench 60 oltp_read_write --threads=16 --events=2000 --time=0 \
		--mysql-ignore-errors=1213,1020,1205 run >"$log" 2>&1 || why="read_write: $why"
	[ -n "$why" ] || mariadb_sysbench 60 oltp_point_select --threads="${CLIENTS:-128}" --events=0 \
		--time=3 run >"$log" 2>&1 || why="point_select: $why"
	if [ -n "$why" ]; then
		why="$why: $(grep -m1 -i -e fatal -e error "$log" 2>/dev/null)"
		return 1
	fi
	figure=$(sed -n 's/.*queries: .*(\([0-9]*\).*per sec.*/\1/p' "$log")
	unit=queries/s
	answer="checked=$(mariadb_sql "CHECK TABLE test.sbtest1, test.sbtest2" | grep -c 'status.*OK')"
	answer+=",rows=$(mariadb_sql "SELECT COUNT(*) FROM test.sbtest1")"
	if [ "$answer" != "checked=2,rows=5000" ]; then
		why="wrong answers: $answer"
		return 1
	fi
}

recipe_run() {
	local user

	scratch
	user=$(id -un)
	[ "$user" != root ] || user=mysql
	chmod 755 "$scratch_dir"
	mariadb_template "$user" || return 1
	rm -rf "$scratch_dir/mariadb"
	cp -a "$scratch_dir/mariadb-empty" "$scratch_dir/mariadb"
	mariadb_port=$(free_port)
	start_server "$mariadb_port" "$@" mariadbd --no-defaults --user="$user" \
		--datadir="$scratch_dir/mariadb" --socket="$scratch_dir/mariadb/sock" \
		--bind-address=127.0.0.1 --port="$mariadb_port" --skip-name-resolve \
		--thread-handling=one-thread-per-connection --max-connections=1024 \
		--back-log=1024 --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=2 ||
		return 1
	mariadb_load || abandon_server || return 1
	stop_server
}
