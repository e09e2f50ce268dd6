# page: what the pages of `scripts/bench` and `scripts/program` share (bash, sourced after lib.sh).
#
# A page is one file without outside parts: tables of HTML, drawings of SVG by gnuplot.  Its functions print; where a
# drawing needs gnuplot and it is not there, page_plot prints a sentence that says so.  They must never measure.

page_begin() {	# page_begin TITLE
	cat <<-END
		<!DOCTYPE html>
		<html lang="en"><meta charset="utf-8"><title>$1</title>
		<meta name="viewport" content="width=device-width, initial-scale=1">
		<style>
		body { font: 16px/1.4 sans-serif; max-width: 1240px; margin: 0 auto; padding: 8px 16px; color: #222 }
		h2 { margin-top: 1.6em; border-bottom: 1px solid #ccc }
		table { border-collapse: collapse; font-variant-numeric: tabular-nums }
		th, td { padding: 2px 5px; font-size: 14px; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap }
		th:first-child, td:first-child { text-align: left }
		.wide { overflow-x: auto }
		.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 370px), 1fr)); gap: 12px }
		svg { width: 100%; height: auto }
		dt { font-weight: bold; float: left; clear: left; width: 9em }
		dd { margin-left: 9.5em; overflow-wrap: anywhere }
		</style>
		<h1>$1</h1>
	END
}

page_end() { echo '</html>'; }

page_escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

# What was measured where, and how to do it again: lines NAME<tab>VALUE, which page_machine makes a list of, and
# page_text of a report of plain text.
machine_lines() {	# machine_lines COMMAND
	local cpu

	cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
	printf '%s\t%s\n' \
		machine "$(nproc) CPUs${cpu:+, $cpu}, $(awk '/^MemTotal/ { printf "%d GB", $2 / 1048576 + 0.5 }' /proc/meminfo)" \
		kernel "$(uname -sr)" \
		libc "$(getconf GNU_LIBC_VERSION)" \
		weft "$("$weft_launcher" --version 2>/dev/null | head -n 1)" \
		options "${WEFT:-the default ones}" \
		load "$(cut -d' ' -f1-3 /proc/loadavg) when it began" \
		date "$(date -u '+%Y-%m-%d %H:%M') UTC" \
		again "$1"
}

page_machine() {	# lines of machine_lines on standard input
	page_escape | awk -F'\t' 'BEGIN { print "<dl>" } { print "<dt>" $1 "</dt><dd>" $2 "</dd>" } END { print "</dl>" }'
}

page_table() {	# lines of cells with tabs between them on standard input; the first is the heads
	page_escape | awk -F'\t' '
		BEGIN { print "<div class=wide><table>" }
		{
			tag = NR == 1 ? "th" : "td"
			printf "<tr>"
			for (i = 1; i <= NF; i++)
				printf "<%s>%s</%s>", tag, $i, tag
			print "</tr>"
		}
		END { print "</table></div>" }'
}

# The same lines as a table of Markdown.
text_table() {
	awk -F'\t' '
		{
			printf "|"
			for (i = 1; i <= NF; i++)
				printf " %s |", $i
			print ""
		}
		NR == 1 {
			printf "|---|"
			for (i = 2; i <= NF; i++)
				printf "---:|"
			print ""
		}'
}

# page_plot WIDTH HEIGHT: gnuplot's commands on standard input; prints the SVG.
page_plot() {
	local commands

	commands=$(cat)
	if ! have gnuplot; then
		echo "<p>($why: no drawing here)</p>"
		return
	fi
	gnuplot <<-END | sed '1,/^<!DOCTYPE/{/^<?xml/d;/^<!DOCTYPE/d;/^ "http/d}'
		set terminal svg size $1,$2 dynamic noenhanced font 'sans-serif,14' background 'white'
		set grid
		$commands
	END
}

# page_bars FILE AXIS: lines LABEL VALUE LEAST MOST, a bar each, on an axis that doubles; 1 is native's.
page_bars() {
	local rows

	rows=$(grep -c . "$1")
	[ "$rows" -gt 0 ] || return 0
	page_plot 900 $((rows * 24 + 90)) <<-END
		set logscale x 2
		set xlabel '$2'
		set yrange [$rows-0.4:-0.6]
		set ytics nomirror
		set arrow from 1, graph 0 to 1, graph 1 nohead lw 2 lc rgb '#888888'
		set key off
		set style fill solid
		plot '$1' using (1):0:(\$2 < 1 ? \$2 : 1):(\$2 < 1 ? 1 : \$2):(\$0-0.3):(\$0+0.3):ytic(1) \
			with boxxyerror lc rgb '#4c86b8', '$1' using 2:0:3:4 with xerrorbars pt 0 lw 1.5 lc rgb '#222222'
	END
}

# keep_section NAME FILE: the text of FILE as the section NAME of compat/REPORT.md, in the place of the old one.
keep_section() {
	local report=$weft_root/compat/REPORT.md new

	[ -f "$report" ] || printf '# Report\n\n%s\n' \
		'The newest figures, as `scripts/bench --report DIR --keep` and `scripts/program --report DIR --keep` wrote them.' \
		>"$report"
	new=$(mktemp)
	awk -v name="## $1" -v file="$2" '
		function put(  line) {
			print name "\n"
			while ((getline line <file) > 0)
				print line
			done = 1
		}
		$0 == name { put(); skip = 1; next }
		/^## / { if (skip) print ""; skip = 0 }
		!skip { print }
		END { if (!done) { print ""; put() } }' "$report" >"$new" && cat "$new" >"$report"
	rm -f "$new"
}
