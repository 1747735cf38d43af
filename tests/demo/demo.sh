#!/bin/sh
# Replays the sample log of tests/data/demo through a real daemon on a free loopback port and shows each
# question, its answer and the true count beside it. The clock stands at noon of the sample's last day.
# KEEP=1: the daemon stays up until Ctrl-C. Needs RECKOND, TOP_SRCDIR; curl and jq.
set -eu
: "${RECKOND:?}" "${TOP_SRCDIR:?}"
data=$TOP_SRCDIR/tests/data/demo
dir=$(mktemp -d)
pid=
finish() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    [ -z "$pid" ] || wait "$pid" 2>/dev/null || true
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir "$dir/log"
cp "$data"/access.log.*.gz "$dir/log/"
cat >"$dir/reckond.yaml" <<EOF
timezone: UTC
inputs:
  - {name: shop, files: ["$dir/log/access.log*"], format: combined}
state: {directory: $dir/state}
http: {listen: "127.0.0.1:0"}
EOF
clock=$(jq -r .clock "$data/truth.json")
"$RECKOND" -c "$dir/reckond.yaml" --clock "$clock" 2>"$dir/out" &
pid=$!

# Waits until COMMAND succeeds, at most 30 seconds.
wait_until() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ $tries -gt 300 ] || ! kill -0 "$pid" 2>/dev/null; then
            cat "$dir/out" >&2
            echo "demo: the daemon did not get there" >&2
            exit 1
        fi
        sleep 0.1
    done
}
listening() {
    address=$(sed -n 's/.*listening on \([^,]*\),.*/\1/p' "$dir/out")
    [ -n "$address" ]
}
lines=$(jq .books.lines "$data/truth.json")
caught_up() {
    [ "$(curl -s "http://$address/status" | jq '.inputs[0].books.lines')" = "$lines" ]
}
wait_until listening
wait_until caught_up

# true RANGE FIELD: what the generator of the sample knows
truth() {
    jq -r --arg range "$1" ".ranges[\$range].$2" "$data/truth.json"
}
# ask TARGET JQ NOTE: shows the command, its answer and the truth
ask() {
    printf "\$ curl 'http://%s%s' | jq -c '%s'\n" "$address" "$1" "$2"
    curl -s "http://$address$1" | jq -c "$2"
    [ -z "$3" ] || printf '    %s\n' "$3"
    echo
}

sum=$(truth 2026-11-23..2026-11-24 sum_of_days_ip_ua)
echo "Three days of an online bookstore, $lines lines, read by $("$RECKOND" --version | head -n 1)."
echo "It is $clock there: Tuesday."
echo
ask "/uniques?from=sun&to=sun" '{from,to,estimate,low,high,exact,estimator}' \
    "true: $(truth 2026-11-22..2026-11-22 distinct_ip_ua) visitors"
ask "/uniques?from=mon&to=tue" '{from,to,estimate,low,high,exact,estimator,sum_of_days}' \
    "true: $(truth 2026-11-23..2026-11-24 distinct_ip_ua) visitors; adding up the two days gives $sum"
ask "/uniques?from=sun&to=tue&by=day" '.rows[] | {day,estimate,low,high,estimator}' \
    "true: $(truth 2026-11-22..2026-11-22 distinct_ip_ua), $(truth 2026-11-23..2026-11-23 distinct_ip_ua), $(truth 2026-11-24..2026-11-24 distinct_ip_ua)"
ask "/topk?n=5&from=sun" '{total,error_bound}, (.rows[] | {rank,key,count,low,high})' \
    "true: $(jq -r '.ranges["2026-11-22..2026-11-24"].top_paths[:5] | map("\(.path) \(.count)") | join(", ")' "$data/truth.json")"
client=$(gzip -dc "$data/access.log.1.gz" | sed -n 1p | cut -d' ' -f1)
agent=$(gzip -dc "$data/access.log.1.gz" | sed -n 1p | cut -d'"' -f6 | jq -sRr 'rtrimstr("\n") | @uri')
ask "/seen?client=$client&user_agent=$agent" '{seen,certainty,false_positive_rate,since}' \
    "true: yes, the first line of Tuesday"
ask "/seen?client=203.0.113.250&user_agent=nobody" '{seen,certainty,since}' "true: no"
ask "/days?from=sun" '.rows[] | {day,hits,bytes,status_4xx,estimate,new,returning}' \
    "true hits: $(truth 2026-11-22..2026-11-22 hits), $(truth 2026-11-23..2026-11-23 hits), $(truth 2026-11-24..2026-11-24 hits)"
ask "/status" '{balanced, books: .inputs[0].books}' \
    "true: $(jq -c .books "$data/truth.json")"

if [ -n "${KEEP-}" ]; then
    echo "The daemon listens on http://$address/ until you press Ctrl-C."
    wait "$pid" || true
    pid=
else
    echo "With KEEP=1 it stays up to be asked: KEEP=1 ./autogen.sh demo"
fi
