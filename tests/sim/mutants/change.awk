# change.awk FILE.patch FILE: prints FILE as the patch makes it.
#
# Each hunk's old text must stand in FILE exactly once: where it stands now, and the numbers of the hunk, mean nothing.
# (Rejected: patch(1), which is not everywhere, guesses, asks, and leaves files behind.)

FNR == NR {
	if (/^--- / || /^\+\+\+ /)
		next
	if (/^@@/)
		n++
	else if (n && /^[-+ ]/) {
		if (!/^\+/)
			old[n] = old[n] substr($0, 2) "\n"
		if (!/^-/)
			new[n] = new[n] substr($0, 2) "\n"
	} else if (n && /^$/) {
		old[n] = old[n] "\n"
		new[n] = new[n] "\n"
	}
	next
}

{ text = text $0 "\n" }

function fail(why) {
	print "hunk " i ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

END {
	if (failed)
		exit 1
	i = 0
	if (!n)
		fail("there is none")
	for (i = 1; i <= n; i++) {
		at = index(text, old[i])
		if (!at)
			fail("its old text is not in the file")
		rest = substr(text, at + length(old[i]))
		if (index(substr(text, at + 1), old[i]))
			fail("its old text is in the file twice")
		text = substr(text, 1, at - 1) new[i] rest
	}
	printf "%s", text
}
