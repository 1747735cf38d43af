#!/bin/sh
# 1,000,000 generated lines in three days: estimates within three standard errors of an exact count by awk,
# the ten most frequent paths right, and the same JSON to the byte from file, pipe and .gz, with 1 and 2 threads.
set -u
. "$(dirname "$0")/lib.sh"
: "${TOP_BUILDDIR:?}"
"$TOP_BUILDDIR/tests/bench/gen_log" -d 3 -n 333334 -u 120000 -w 60000 >"$dir/log"
lines=$(wc -l <"$dir/log")
gzip -1 -c "$dir/log" >"$dir/log.gz"
cat >"$dir/exact.awk" <<'EOF'
{
    day = substr($4, 2, 11); split($0, q, "\""); visitor = $1 " " q[6]
    path = $7; sub(/[?#].*/, "", path)
    if (q[2] !~ /^[A-Z]+ \/[^ ]* HTTP/) path = "-"
    hits[path]++
    if (!(visitor in all)) { all[visitor]; n_all++ }
    if (!((day, visitor) in by_day)) { by_day[day, visitor]; n[day]++ }
}
END {
    for (d in n) print "day", d, n[d]
    print "all", n_all
    for (p in hits) print "path", hits[p], p
}
EOF
mawk -f "$dir/exact.awk" "$dir/log" >"$dir/exact"
head -c 192 /dev/urandom >"$dir/key"
chmod 600 "$dir/key"
report() {
    "$RECKOND" report --json --timezone UTC --format combined --hash-key "$dir/key" --no-progress "$@"
}
report --threads 1 "$dir/log" >"$dir/1"
report --threads 2 "$dir/log" >"$dir/2"
cat "$dir/log" | report --threads 1 >"$dir/3"
report --threads 2 - <"$dir/log.gz" >"$dir/4"
report --threads 2 "$dir/log.gz" >"$dir/5"
check "one thread and two give the same JSON" cmp "$dir/1" "$dir/2"
check "a pipe gives the same JSON" cmp "$dir/1" "$dir/3"
check "a packed pipe gives the same JSON" cmp "$dir/1" "$dir/4"
check "a .gz gives the same JSON" cmp "$dir/1" "$dir/5"
check "every line is counted" equal "$(jq '.books.counted' "$dir/1")" "$lines"

# near ESTIMATE-JSON TRUE: within three standard errors
near() {
    echo "$1 true $2"
    [ "$(printf '%s' "$1" | jq "(.estimate - $2 | fabs) <= 3 * .relative_standard_error * $2")" = true ]
}
i=0
sort -k2 "$dir/exact" | awk '$1 == "day" {print $3}' >"$dir/days"
while read -r exact; do
    check "day $((i + 1)) within three standard errors" near \
        "$(jq -c ".days[$i].uniques.visitors" "$dir/1")" "$exact"
    i=$((i + 1))
done <"$dir/days"
check "three days" equal "$i" 3
check "all days within three standard errors" near "$(jq -c .uniques.visitors "$dir/1")" \
    "$(awk '$1 == "all" {print $2}' "$dir/exact")"
check "top ten paths and their counts are exact" equal \
    "$(jq -r '.topk.paths.rows[] | "\(.count) \(.key)"' "$dir/1")" \
    "$(awk '$1 == "path" {print $2, $3}' "$dir/exact" | LC_ALL=C sort -k1,1nr -k2 | head -n 10)"
plan
