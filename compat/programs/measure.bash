# measure: one program natively and under weft in turn, for its figures (bash, sourced after lib.sh).
#
# Rounds are interleaved, because the machine's mood changes from minute to minute; the figures are
# medians.  A recipe with several loads has a line for each, and servers one for how long they take to stop.

measure_recipe() {	# measure_recipe NAME [PROCS...]
	local name=$1 rounds=${ROUNDS:-5} modes=(native) failed want round mode

	shift
	if ! load_recipe "$name" || ! have "${recipe_commands[@]}"; then
		say "program: $name: $why (packages: ${recipe_packages:-unknown})"
		return 1
	fi
	if weft_works; then
		modes+=("${@:-2}")
	else
		say "program: $why; native figures only"
	fi

	scratch
	failed=0
	want=
	for round in $(seq "$rounds"); do
		for mode in "${modes[@]}"; do
			under "$mode"
			why=
			measures=()
			answer=
			if recipe_run "${prefix[@]}"; then
				want=${want:-$answer}
				[ "$answer" = "$want" ] || why="answer $answer, expected $want"
			fi
			if [ -n "$why" ]; then
				say "$name, $mode, round $round: $why"
				failed=$((failed + 1))
				continue
			fi
			[ "${#measures[@]}" -gt 1 ] || measures=("- $figure $unit" "${measures[@]}")
			printf "$mode %s\n" "${measures[@]}" >>"$scratch_dir/figures"
			say "$name, $mode, round $round: $figure $unit"
		done
	done

	measured_table
	[ $failed -eq 0 ] || say "$name: $failed runs failed"
	[ $failed -eq 0 ]
}

measured_table() {
	touch "$scratch_dir/figures"
	sort -k2,2 -k1,1 -k3,3n "$scratch_dir/figures" | awk -v name="$name" -v modes="${modes[*]}" \
		-v better="$recipe_better" '
		{
			v[$2, $1, ++n[$2, $1]] = $3
			if (!($2 in unit))
				order[++labels] = $2
			unit[$2] = $4
		}
		function median(label, mode) { return v[label, mode, int((n[label, mode] + 1) / 2)] }
		END {
			count = split(modes, mode)
			for (l = 1; l <= labels; l++) {
				label = order[l]
				lower = label == "-" ? better == "lower" : unit[label] ~ /^[mu]s/
				base = median(label, "native")
				for (m = 1; m <= count; m++) {
					mid = median(label, mode[m])
					gain = ""
					if (mode[m] != "native" && base > 0 && mid > 0)
						gain = sprintf("  %.2fx", lower ? base / mid : mid / base)
					printf "%-12s %-21s %-14s %10s %s (%d runs)%s\n", name,
						label == "-" ? "" : label,
						mode[m] == "native" ? "native" : "weft procs=" mode[m],
						mid == "" ? "-" : mid, unit[label], n[label, mode[m]], gain
				}
			}
		}'
}
