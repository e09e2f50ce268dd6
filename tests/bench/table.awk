# table.awk: a line per figure, a column per mode, ratios at the end (with medians.awk in front).
function cell(mode, name,    x) {
	x = median(mode, name)
	if (x != "")
		return show(x) (failed[mode, name] ? "!" : "")
	return (mode, name) in failed ? failed[mode, name] : "-"
}
function ratio(other, mine, unit) {
	if (other == "" || mine == "" || unit == "threads" || !(mine > 0) || !(other > 0))
		return "-"
	return sprintf("%.2f", higher_is_better(unit) ? mine / other : other / mine)
}
$3 == "!" {
	if (!($2 in seen_any))
		pending[$2] = 1
	next
}
{
	name = $2
	if (!(name in unit)) {
		order[++rows] = name
		unit[name] = $4
	}
	seen_any[name] = 1
}
END {
	# A benchmark that failed everywhere still gets its row.
	for (name in pending) {
		found = 0
		for (i = 1; i <= rows; i++)
			if (order[i] == name || index(order[i], name "-") == 1) {
				found = 1
				for (k in failed) {
					split(k, part, SUBSEP)
					if (part[2] == name)
						failed[part[1], order[i]] = failed[k]
				}
			}
		if (!found) {
			order[++rows] = name
			unit[name] = ""
		}
	}
	format = "%-18s%-9s%11s%11s%11s%11s%11s%11s%9s%9s%9s\n"
	printf format, "", "", "native", "native", "weft", "weft", "Go", "Go", "P=1 to", "P=2 to", "P=2 to"
	printf format, "", "unit", "", "1 cpu", "P=1", "P=2", "P=1", "P=2", "native", "native", "Go P=2"
	for (i = 1; i <= rows; i++) {
		n = order[i]
		u = unit[n]
		native = better(median("native", n), median("pinned", n), u)
		printf format, n, u, cell("native", n), cell("pinned", n), cell("1", n), cell("2", n),
			cell("go1", n), cell("go2", n), ratio(native, median("1", n), u),
			ratio(native, median("2", n), u), ratio(median("go2", n), median("2", n), u)
	}
}
