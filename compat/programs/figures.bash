# figures: the page of `scripts/program --report`: servers natively and under weft (bash, sourced after lib.sh,
# page.bash and measure.bash).
#
# A line of $figures is `NAME MODE LABEL VALUE UNIT`, each of one run; a label that ends in -pPERCENT is a latency.

report_servers="nginx apache haproxy lighttpd varnish puma python-http memcached redis mariadb postgres named unbound"

report_programs() {	# report_programs DIR NAME...
	local dir=$1 name procs=(1 2) failures=0

	shift
	[ $# -gt 0 ] || set -- $report_servers
	[ -z "${server_cpu-}" ] || procs=(1)
	scratch
	mkdir -p "$dir" || return 1
	figures=$scratch_dir/all-figures
	: >"$figures"
	machine_lines "$command" >"$scratch_dir/machine"
	with_load=yes
	for name; do
		: >"$scratch_dir/figures"
		measure_recipe "$name" "${procs[@]}" >/dev/null || failures=$((failures + 1))
		sed "s/^/$name /" "$scratch_dir/figures" >>"$figures"
	done
	servers_table >"$scratch_dir/table"
	servers_page >"$dir/programs.html"
	{
		sed 's/^/- /; s/\t/: /' "$scratch_dir/machine"
		echo
		text_table <"$scratch_dir/table"
	} >"$dir/programs.md"
	[ -z "$keep" ] || keep_section "scripts/program${server_cpu:+ --apart}" "$dir/programs.md"
	echo "report: $dir/programs.html"
	[ $failures -eq 0 ]
}

# What the reports make of the figures; `want` is table, bars or quantiles.
figures_awk() {
	sort -k1,1 -k3,3 -k2,2 -k4,4n "$figures" | awk -v OFS='\t' "$@" '
		{
			key = $1 " " $3
			v[key, $2, ++n[key, $2]] = $4
			unit[key] = $5
			if (!(key in seen)) { seen[key] = 1; order[++keys] = key }
			mode[$2] = 1
		}
		function median(key, m) { return v[key, m, int((n[key, m] + 1) / 2)] }
		function gain(key, x) {
			return x > 0 && median(key, "native") > 0 ?
				(unit[key] ~ /^[mu]s/ ? median(key, "native") / x : x / median(key, "native")) : 0
		}'"$figures_end"
}

# A line a load: rate and processor time natively and under weft, and the latencies p50 and p99.
servers_table() {
	local figures_end='
		function cell(key, m) { return n[key, m] ? median(key, m) : "-" }
		function ratio(key, m) { return gain(key, median(key, m)) ? sprintf("%.2fx", gain(key, median(key, m))) : "-" }
		END {
			print "server, load", "unit", "native", "weft P=1", "", "weft P=2", "", "CPU us/op native", "P=1", "P=2",
				"p50 ms native", "P=1", "P=2", "p99 ms native", "P=1", "P=2"
			for (k = 1; k <= keys; k++) {
				key = order[k]
				if (key ~ /-(cpu|p[0-9.]+)$/ || unit[key] ~ /^[mu]s/)
					continue
				printf "%s\t%s\t%s\t%s\t%s\t%s\t%s", key, unit[key], cell(key, "native"), cell(key, 1),
					ratio(key, 1), cell(key, 2), ratio(key, 2)
				split("-cpu -p50 -p99", part, " ")
				for (i = 1; i <= 3; i++) {
					split("native 1 2", m, " ")
					for (j = 1; j <= 3; j++) {
						x = n[key part[i], m[j]] ? median(key part[i], m[j]) : ""
						printf "\t%s", x == "" ? "-" : i == 1 ? x : sprintf("%.2f", x / 1000)
					}
				}
				print ""
			}
		}'

	figures_awk
}

# LABEL VALUE LEAST MOST for page_bars: rates under weft with P processors against native.
servers_bars() {
	local figures_end='
		END {
			for (k = 1; k <= keys; k++) {
				key = order[k]
				if (key ~ /-(cpu|p[0-9.]+)$/ || unit[key] ~ /^[mu]s/ || !n[key, p])
					continue
				label = key
				gsub(/ /, ":", label)
				sub(/:-$/, "", label)
				print label, gain(key, median(key, p)), gain(key, v[key, p, 1]), gain(key, v[key, p, n[key, p]])
			}
		}'

	figures_awk -v p="$1"
}

# NAME LABEL of each load that has latencies; then PERCENT MS of one.
servers_loads() { awk '$3 ~ /-p50$/ { sub(/-p50$/, "", $3); print $1, $3 }' "$figures" | sort -u; }

servers_quantiles() {	# servers_quantiles NAME LABEL MODE
	local figures_end='
		END {
			for (k = 1; k <= keys; k++)
				if (index(order[k], wanted "-p") == 1 && n[order[k], m]) {
					p = substr(order[k], length(wanted) + 3) + 0
					if (p < 100)
						print 1 / (1 - p / 100), median(order[k], m) / 1000
				}
		}'

	figures_awk -v wanted="$1 $2" -v m="$3" | sort -n
}

servers_latency() {	# servers_latency NAME LABEL: the distribution as a drawing
	local mode lines=()

	for mode in native 1 2; do
		servers_quantiles "$1" "$2" "$mode" >"$scratch_dir/quantiles.$mode"
		[ ! -s "$scratch_dir/quantiles.$mode" ] ||
			lines+=("'$scratch_dir/quantiles.$mode' with linespoints lw 2 title '${mode/#[0-9]/weft P=$mode}'")
	done
	page_plot 600 400 <<-END
		set logscale xy
		set xrange [1.8:12000]
		set xtics ('p50' 2, 'p90' 10, 'p99' 100, 'p99.9' 1000, 'p99.99' 10000)
		set ylabel 'ms'
		set title '$1: $2'
		set key outside bottom center horizontal
		plot $(IFS=,; echo "${lines[*]}")
	END
}

servers_page() {
	local p name label

	page_begin "Servers under weft"
	page_machine <"$scratch_dir/machine"
	echo "<h2>Rate</h2><p>Medians of ${ROUNDS:-5} interleaved runs; the line is from the least to the most of weft's
		runs against native's median. Left of 1 weft is worse.</p><div class=plots>"
	for p in 1 2; do
		servers_bars "$p" >"$scratch_dir/bars"
		[ -s "$scratch_dir/bars" ] || continue
		echo "<div><h3>weft with P=$p</h3>"
		page_bars "$scratch_dir/bars" "rate against native"
		echo "</div>"
	done
	echo "</div><h2>Figures</h2>"
	page_table <"$scratch_dir/table"
	echo "<h2>Latency</h2><div class=plots>"
	servers_loads | while read -r name label; do servers_latency "$name" "$label"; done
	echo "</div>"
	page_end
}
