# check: one program natively and under weft, and what differs (bash, sourced after lib.sh).
#
# Native comes first and says what the answer is.  A failure is run twice more, so that its row says how often.
# What a failed run left (output, messages) stays in build/programs/NAME/MODE.

check_modes=(native 1 default)
check_again=${CHECK_AGAIN:-2}
passed=0
failed=0

# Of the recipe that is loaded: the version of its first package.
recipe_version() {
	dpkg-query -W -f '${Version}' "${recipe_packages%% *}" 2>/dev/null | sed 's/^[0-9]*://; s/[+-].*//'
}

mode_name() {
	case $1 in
	native) echo natively ;;
	default) echo "weft" ;;
	*) echo "weft procs=$1" ;;
	esac
}

# Lines that weft itself wrote, without its process number; some that nobody expected are a failure.
weft_lines() {
	cat "$scratch_dir/err" "$scratch_dir/server" 2>/dev/null | sed -n 's/^weft\[[0-9]*\]: //p' |
		grep -v -x -F -e "${recipe_says:-no such line}" | sort -u | head -n 3
}

keep_traces() {
	local to=$weft_build/programs/$recipe_name/$1

	rm -rf "$to"
	mkdir -p "$to"
	cp "$scratch_dir"/{out,err,server} "$to" 2>/dev/null
}

# check_once MODE: one run.  The answer of the native one is kept for those that follow.  Sets why on failure.
check_once() {
	local mode=$1 says

	rm -f "$scratch_dir"/{out,err,server,figures}
	under "$mode"
	why=
	measures=()
	answer=
	recipe_run "$weft_python" "$weft_root/compat/programs/watch.py" "$scratch_dir/figures" ${recipe_watch:-} \
		-- "${prefix[@]}" || why=${why:-failed}
	says=$(weft_lines)
	[ -z "$says" ] || why="${why:+$why; }weft says: ${says//$'\n'/; }"
	if [ "$mode" = native ]; then
		want=$answer
		[ ! -e "$scratch_dir/out" ] || cp "$scratch_dir/out" "$scratch_dir/out.native"
	elif [ -z "$why" ] && [ "$answer" != "$want" ]; then
		why="answer $answer, natively $want"
		[ ! -e "$scratch_dir/out.native" ] || why="differs: $(
			diff "$scratch_dir/out.native" "$scratch_dir/out" | grep -m1 '^[<>]')"
	fi
	[ -z "$why" ] || keep_traces "$mode"
	[ -z "$why" ]
}

# The program's figures: seconds and CPU of all its processes added, memory and threads of the largest.
check_figures() {
	local i

	# Who watches from outside writes after the end.
	for i in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -s "$scratch_dir/figures" ] || break
		sleep 0.05
	done
	awk '{ wall += $1; cpu += $2; if ($3 > rss) rss = $3; if ($4 > threads) threads = $4 }
		END { if (NR) printf "%.1f %.1f %.0f %d", wall, cpu, rss, threads; else print "- - - -" }' \
		"$scratch_dir/figures" 2>/dev/null || echo "- - - -"
}

# check_mode MODE: sets verdict and figures.
check_mode() {
	local bad=0 reason i

	if check_once "$1"; then
		verdict=ok
		figures=$(check_figures)
		return 0
	fi
	reason=$why
	figures=$(check_figures)
	bad=1
	for i in $(seq $check_again); do
		check_once "$1" || bad=$((bad + 1))
	done
	verdict="fails $bad of $((check_again + 1)): $reason"
	return 1
}

# check_recipe NAME: three runs; one line for each on standard error, one row on standard output.
check_recipe() {
	local mode verdicts=() all=() verdict figures cell row column

	why=
	if ! load_recipe "$1"; then
		say "$1: $why"
		return 1
	fi
	if ! have "${recipe_commands[@]}"; then
		say "$1: skipped: package ${recipe_packages:-unknown}"
		return 77
	fi
	scratch
	for mode in "${check_modes[@]}"; do
		check_mode "$mode"
		say "$(printf '%-14s %-13s %-24s %s' "$1" "$(mode_name "$mode")" "$figures" "$verdict")"
		verdicts+=("$verdict")
		all+=("$figures")
		if [ "$mode" = native ] && [ "$verdict" != ok ]; then
			verdicts+=("not run" "not run")
			break
		fi
	done
	row="$1 | $(recipe_version) | $recipe_about"
	for cell in "${verdicts[@]}"; do
		row+=" | $(tr '|\n' '/ ' <<<"$cell" | cut -c1-160 | sed 's/ *$//')"
	done
	for column in 1 2 3 4; do
		row+=" | $(printf '%s\n' "${all[@]}" | cut -d' ' -f$column | paste -sd/ | sed 's,/, / ,g')"
	done
	printf '| %s |\n' "$row"
}

# check_recipes NAME...: sets passed and failed; the rows are in $scratch_dir/rows.
check_recipes() {
	local name status cells

	: >"$scratch_dir/rows"
	weft_works || { say "program: $why"; failed=1; return 1; }
	for name; do
		# A shell of its own: a recipe's names and its scratch directory are its own.
		(scratch_dir= && check_recipe "$name") >"$scratch_dir/row"
		status=$?
		if [ $status -eq 77 ]; then
			continue
		elif [ ! -s "$scratch_dir/row" ]; then
			failed=$((failed + 2))
			continue
		fi
		cat "$scratch_dir/row" >>"$scratch_dir/rows"
		cells=$(cut -d'|' -f6,7 "$scratch_dir/row" | tr '|' '\n' | grep -c '^ ok $')
		passed=$((passed + cells))
		failed=$((failed + 2 - cells))
	done
	[ $failed -eq 0 ]
}

quick_recipes() {
	all_recipes | while read -r name; do
		(recipe_quick= && load_recipe "$name" && [ -n "$recipe_quick" ] && echo "$name")
	done
}

# install_recipes NAME...: nothing that a package brings is started.
install_recipes() {
	local name packages policy=/usr/sbin/policy-rc.d made= status

	packages=$(for name; do (load_recipe "$name" && echo "$recipe_packages"); done | tr ' ' '\n' | sort -u)
	if [ -w "${policy%/*}" ] && [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy
		made=1
	fi
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-upgrade --no-install-recommends $packages
	status=$?
	[ -z "$made" ] || rm -f $policy
	return $status
}
