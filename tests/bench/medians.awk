# medians.awk: lines `MODE NAME VALUE UNIT` into arrays, medians out of them; `MODE NAME ! WHY` is a run that failed.
# What the tables and drawings of scripts/bench begin with.
function median(mode, name,    i, j, k, t, list) {
	k = count[mode, name]
	if (!k)
		return ""
	for (i = 1; i <= k; i++)
		list[i] = value[mode, name, i]
	for (i = 2; i <= k; i++)
		for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
			t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
		}
	return list[int((k + 1) / 2)]
}
# Thousands and millions of ns are hard to read; units stay, digits go.
function show(x) {
	if (x == "") return "-"
	return x >= 100 ? sprintf("%d", x + 0.5) : sprintf("%.1f", x)
}
function higher_is_better(unit) { return unit == "req/s" || unit == "%" || unit == "loops/us" }
function better(a, b, unit) {
	if (a == "") return b
	if (b == "") return a
	return (higher_is_better(unit) ? a > b : a < b) ? a : b
}
$3 == "!" { failed[$1, $2] = $4 == "hangs" ? "hang" : "fail" }
$3 != "!" { value[$1, $2, ++count[$1, $2]] = $3 + 0 }
