# mariadb: a kernel thread per connection in the plainest configuration, and dozens of its own.
#
# Point queries and transactions with few, many and a thousand connections; SIGHUP has it flush its tables and read
# its grants again; every table is checked afterwards.
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

# mariadb_step TEST CONNECTIONS: a few seconds of it.  Who loses to another transaction tries again.
mariadb_step() {
	local log=$scratch_dir/sysbench

	load_begins
	if ! mariadb_sysbench 120 "oltp_$1" --threads="$2" --events=0 --time="${SECONDS_EACH:-3}" \
		 --histogram --mysql-ignore-errors=1213,1020,1205 run >"$log" 2>&1; then
		why="$1 with $2 connections: $why: $(grep -m1 -i -e fatal -e error "$log")"
		return 1
	fi
	figure=$(sed -n 's/.*queries: .*(\([0-9]*\).*per sec.*/\1/p' "$log")
	load_ended "$1-$2" "$figure" queries/s "$(awk '$1 == "queries:" { print $2 }' "$log")"
	mariadb_quantiles "$log" >"$scratch_dir/quantiles"
	quantiles "$1-$2" "$scratch_dir/quantiles"
}

# Of sysbench's histogram of events: lines `MS |*** COUNT`.
mariadb_quantiles() {
	awk '$2 ~ /^\|/ && $1 + 0 > 0 { ms[++n] = $1; count[n] = $NF; all += $NF }
		END {
			for (i = 1; i <= n; i++)
				for (seen += count[i]; k < 5 && seen >= all * limit(k); k++)
					printf "quantile %s %d\n", limit(k) * 100, ms[i] * 1000
		}
		function limit(k) { return k == 0 ? 0.5 : k == 1 ? 0.9 : k == 2 ? 0.99 : k == 3 ? 0.999 : 0.9999 }' "$1"
}

# The end of what SIGHUP starts is a report in the error log.
mariadb_reload() {
	reload_until grep -q '^Status information' "$scratch_dir/server" && return 0
	why="no report in the error log 10 s after SIGHUP"
	return 1
}

mariadb_load() {
	local log=$scratch_dir/sysbench clients

	why=
	mariadb_sql "CREATE DATABASE IF NOT EXISTS test" >/dev/null || why="cannot connect"
	[ -n "$why" ] || mariadb_sysbench 60 oltp_read_write prepare >"$log" 2>&1 || why="prepare: $why"
	[ -z "$why" ] || return 1
	for clients in ${CLIENTS:-16 256 1000}; do
		mariadb_step read_write "$clients" && mariadb_step point_select "$clients" || return 1
	done
	mariadb_reload || return 1
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
		--thread-handling=one-thread-per-connection --max-connections=1100 \
		--connect-timeout=60 --max-prepared-stmt-count=100000 \
		--back-log=1024 --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=2 ||
		return 1
	mariadb_load || abandon_server || return 1
	stop_server
}
