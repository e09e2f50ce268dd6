#!/bin/bash
# real-mariadb.sh: mariadb answers under weft as it does natively, at 1, 2 and 8 processors, REPEAT times each.
. "$(dirname "$0")/../../compat/programs/lib.sh"
verify_program mariadb
