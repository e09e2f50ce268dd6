# bash completion for weft(1).  What an option of the scheduler is called is asked of weft itself
# (`weft --options`), so that this file cannot fall behind the table.

_weft_option_values()
{
	local key=${1%%=*} kind dflt

	IFS=$'\t' read -r kind dflt < <("$2" --options 2>/dev/null |
		awk -F '\t' -v key="$key" '$1 == key { print $2 "\t" $3 }')
	case $kind in
	bool) printf '%s\n' 0 1 ;;
	word) printf '%s\n' "${dflt//|/$'\n'}" ;;
	set) printf '%s\n' "${dflt//+/$'\n'}" ;;
	esac
}

_weft()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} weft=${COMP_WORDS[0]}
	local i word

	COMPREPLY=()
	# bash splits words at "=": put -o KEY=VALUE and --procs=N together again.
	if [ "$cur" = "=" ]; then
		cur=
		prev="$prev="
	elif [ "$prev" = "=" ]; then
		prev="${COMP_WORDS[COMP_CWORD - 2]}="
	fi

	# Past the program's name the words are its own.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		--) i=$((i + 1)); break ;;
		-o | -p | --option | --procs) i=$((i + 1)); [ "${COMP_WORDS[i]}" = "=" ] && i=$((i + 1))
			[ "${COMP_WORDS[i + 1]}" = "=" ] && i=$((i + 2)) ;;
		-* | =) ;;
		*) break ;;
		esac
	done
	if [ "$i" -lt "$COMP_CWORD" ]; then
		declare -F _command_offset >/dev/null && _command_offset "$i"
		return
	fi

	case $prev in
	-o | --option | --option=)
		mapfile -t COMPREPLY < <(compgen -S = -W \
			"$("$weft" --options 2>/dev/null | cut -f 1)" -- "$cur")
		compopt -o nospace 2>/dev/null
		return ;;
	-p | --procs | --procs=)
		mapfile -t COMPREPLY < <(compgen -W "$(seq 1 "$(nproc)")" -- "$cur")
		return ;;
	*=)
		mapfile -t COMPREPLY < <(compgen -W "$(_weft_option_values "$prev" "$weft")" -- "$cur")
		return ;;
	esac
	case $cur in
	-*)
		mapfile -t COMPREPLY < <(compgen -W \
			"-o -p --help --option= --options --procs= --version" -- "$cur")
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null ;;
	*) mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur") ;;
	esac
}
complete -F _weft weft
