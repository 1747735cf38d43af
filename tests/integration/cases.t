#!/bin/sh
# Every case whose formats this version knows, against its truth: from the tree always, and from the
# larger collection beside the tree where there is one.
set -u
. "$(dirname "$0")/lib.sh"
cases() { # cases FOLDER: prints its failures and the count
    python3 "$TOP_SRCDIR/tests/cases.py" "$1" >"$dir/out" 2>&1
    code=$?
    cat "$dir/out" >&2
    return "$code"
}

check "reports and single lines equal their truth" cases "$TOP_SRCDIR/tests/data/cases"
sed -n '$s/^/# /p' "$dir/out"
if [ -d "$TOP_SRCDIR/../shared/cases" ]; then
    check "and those beside the tree" cases "$TOP_SRCDIR/../shared/cases"
    sed -n '$s/^/# /p' "$dir/out"
fi
plan
