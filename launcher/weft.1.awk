# Fills weft.1.in: @VERSION@, and @OPTIONS@ by the table that `weft --options` prints into the file `options`.

function troff(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	return s
}

function type_of(type, dflt)
{
	if (type == "str")
		return "text"
	if (type == "word") {
		gsub(/\|/, ", ", dflt)
		return "one of " dflt
	}
	if (type != "set")
		return type
	gsub(/\+/, ", ", dflt)
	return "any of " substr(dflt, 3) " joined by +"
}

function list_options(    f, line, dflt)
{
	while ((getline line < options) > 0) {
		split(line, f, "\t")
		dflt = f[3]
		sub(/[+|].*/, "", dflt)
		print ".TP"
		printf ".BR %s \" (%s%s)\"\n", troff(f[1]), troff(type_of(f[2], f[3])),
			dflt == "" ? "" : "; default " troff(dflt)
		print toupper(substr(f[4], 1, 1)) troff(substr(f[4], 2)) "."
	}
	close(options)
}

/^@OPTIONS@$/ { list_options(); next }
{ gsub(/@VERSION@/, version); print }
