# bars.awk: LABEL VALUE LEAST MOST for each row: how many times better than native weft is (mode; with medians.awk in
# front).  The value is of the medians, the ends are of the least and the most of weft's runs.
function gain(base, x, unit) { return higher_is_better(unit) ? x / base : base / x }
$3 != "!" && !($2 in unit) { order[++rows] = $2; unit[$2] = $4 }
END {
	for (i = 1; i <= rows; i++) {
		n = order[i]
		base = better(median("native", n), median("pinned", n), unit[n])
		mid = median(mode, n)
		if (unit[n] == "threads" || !(base > 0) || !(mid > 0))
			continue
		least = most = gain(base, mid, unit[n])
		for (k = 1; k <= count[mode, n]; k++)
			if (value[mode, n, k] > 0) {
				g = gain(base, value[mode, n, k], unit[n])
				if (g < least) least = g
				if (g > most) most = g
			}
		printf "%s %.3f %.3f %.3f\n", n, gain(base, mid, unit[n]), least, most
	}
}
