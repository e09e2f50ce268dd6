# report: compat/PROGRAMS.md from rows (bash, sourced after lib.sh).
#
# Rows of programs that were not run this time are kept as they stand; a program without a recipe loses its row.

report_rows() {	# report_rows FILE-OF-NEW-ROWS
	local name all absent=

	all=$(all_recipes)
	{
		grep -h '^| [a-z0-9]' "$weft_root/compat/PROGRAMS.md" 2>/dev/null
		cat "$1"
	} | awk -v known="$all" '
		BEGIN { n = split(known, list, "\n"); for (i = 1; i <= n; i++) is[list[i]] = 1 }
		$2 in is { row[$2] = $0 }
		END { for (name in row) print row[name] }' | sort >"$scratch_dir/merged"
	for name in $all; do
		grep -q "^| $name |" "$scratch_dir/merged" ||
			absent+="$name: skipped: package $(load_recipe "$name" && echo "$recipe_packages")"$'\n'
	done
	cat <<-END
		# Programs

		Written by \`scripts/program --all\`: programs of Debian, natively (NPTL), under weft with one P, and under
		weft as it starts by itself, one P for each CPU. **ok**: it started, its answers were those of the native
		run (output compared byte for byte, or a client that checks what it gets), weft said nothing, and it ended;
		a server by SIGTERM. What fails is run again, and its row says how often it failed. Figures are of one run each, \`native / one P / weft\`, on
		$(nproc) CPUs that do other things too: seconds, CPU seconds and MB of all processes of the program, and their
		kernel threads at most. \`scripts/program --measure NAME\` measures.

		$(awk -F' [|] ' '{ n++; split("5 6", c, " "); if ($5 == "ok" && $6 == "ok") ok++; else if ($4 != "ok") bad++ }
			END { printf "%d programs: %d ok, %d that differ, %d that fail natively.", n, ok, n - ok - bad, bad }' \
			"$scratch_dir/merged")

		| program | version | what was run | native | weft, one P | weft | s | CPU s | MB | threads |
		|---|---|---|---|---|---|---|---|---|---|
	END
	cat "$scratch_dir/merged"
	[ -z "$absent" ] || printf '\nNot installed when this was written:\n\n%s\n' "$(sed '/./s/^/- /' <<<"$absent")"
}
