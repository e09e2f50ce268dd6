# echo.awk: the table about servers (names, modes; with medians.awk in front).
# A line per server, a ratio to the native one after each figure.
function better_by(native, mine, rising) {
	if (native == "" || !(native > 0) || !(mine > 0))
		return ""
	return sprintf("%.2f", rising ? mine / native : native / mine)
}
# A figure and its ratio; times come in ns and are shown in us.
function cell(mode, name, rising,    x, ratio) {
	x = median(mode, name)
	if (x == "")
		return sprintf("%10s%6s", "-", "")
	if (mode != "native")
		ratio = better_by(median("native", name), x, rising)
	return sprintf("%10s%6s", show(rising ? x : x / 1000), ratio)
}
function line(title, mode, name,    rate, threads) {
	threads = median(mode, name "-kernel")
	rate = cell(mode, name "-rate", 1)
	if ((mode, name) in failed)
		rate = sprintf("%10s%6s", failed[mode, name], "")
	printf "%-15s%-15s%s%s%s%s%9s\n", title, label[mode], rate, cell(mode, name "-p50"),
		cell(mode, name "-p99"), cell(mode, name "-cpu"), threads == "" ? "-" : threads
}
END {
	label["native"] = "native"; label["pinned"] = "native, 1 cpu"
	label["1"] = "weft P=1"; label["2"] = "weft P=2"
	label["go1"] = "Go P=1"; label["go2"] = "Go P=2"
	printf "%-15s%-15s%10s%6s%10s%6s%10s%6s%10s%6s%9s\n", "connections", "server", "req/s", "",
		"p50 us", "", "p99 us", "", "cpu us/req", "", "kthreads"
	rows = split(names, row)
	columns = split(modes, mode)
	for (i = 1; i <= rows; i++) {
		title = row[i] == "echo100x1" ? "100, 1 busy" : substr(row[i], 5)
		for (j = 1; j <= columns; j++) {
			line(title, mode[j], row[i])
			title = ""
		}
	}
}
