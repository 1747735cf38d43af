#!/bin/sh
# The demo that the README opens with: every answer beside its truth.
set -u
. "$(dirname "$0")/lib.sh"
export RECKOND TOP_SRCDIR
sh "$TOP_SRCDIR/tests/demo/demo.sh" >"$dir/out" 2>&1
check "the demo runs to its end" equal $? 0
truth=$data/demo/truth.json

# answer N: the answer to the N-th question
answer() {
    awk -v n="$1" '/^\$ curl/ {i++; next} i == n && /^{/' "$dir/out"
}
# within ESTIMATE-JSON TRUE: the interval holds the truth (three standard errors where it does not)
within() {
    echo "$1 true $2"
    [ "$(printf '%s' "$1" | jq "(.estimate - $2 | fabs) <= (.high - .low) * 0.77 + 0.5")" = true ]
}
check "Sunday is exact" equal "$(answer 1 | jq -c '[.estimate,.exact]')" '[7599,true]'
check "Monday and Tuesday, each visitor once" within "$(answer 2)" \
    "$(jq '.ranges["2026-11-23..2026-11-24"].distinct_ip_ua' "$truth")"
check "the five most frequent pages are right" equal \
    "$(answer 4 | jq -c 'select(.rank) | [.key,.count]' | tr -d '\n')" \
    "$(jq -c '.ranges["2026-11-22..2026-11-24"].top_paths[:5][] | [.path,.count]' "$truth" | tr -d '\n')"
check "seen" equal "$(answer 5 | jq -c .seen) $(answer 6 | jq -c '[.seen,.certainty]')" 'true [false,"definite"]'
check "hits by day" equal "$(answer 7 | jq .hits | tr '\n' ' ')" "13030 20776 21942 "
check "the books balance and show what was not understood" equal \
    "$(answer 8 | jq -c '[.balanced,.books.lines,.books.counted,.books.rejected.bad_format]')" '[true,55754,55748,6]'
plan
