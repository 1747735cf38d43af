#!/bin/sh
# A real redis-server takes our strings, counts them as we say and merges them as we do; we read its strings.
# It listens on a socket in the test's folder alone, and keeps nothing.
set -u
. "$(dirname "$0")/lib.sh"
: "${TOP_BUILDDIR:?}"
if ! command -v redis-server >/dev/null 2>&1 || ! command -v redis-cli >/dev/null 2>&1; then
    echo "1..0 # SKIP redis-server or redis-cli is not installed"
    exit 0
fi
form=$TOP_BUILDDIR/tests/integration/redis_form
redis() {
    redis-cli -s "$dir/redis.sock" "$@"
}
put() { # put KEY FILE: the bytes as they are
    redis -x SET "$1" <"$2" >/dev/null
}
get() { # get KEY FILE: redis-cli adds one line feed
    redis --raw GET "$1" >"$2"
}
redis-server --port 0 --unixsocket "$dir/redis.sock" --dir "$dir" --save '' --appendonly no \
    >"$dir/redis.out" 2>&1 &
pids="$pids $!"
wait_for 20 redis PING || {
    echo "1..0 # SKIP redis-server does not start: $(tail -n 1 "$dir/redis.out")"
    exit 0
}

for n in 0 1 10 1000 9999 40000 390808 3000000; do
    ours=$("$form" write "$dir/$n" 0 "$n")
    put "n$n" "$dir/$n"
    check "PFCOUNT of $n keys is ours, digit for digit" equal "$(redis PFCOUNT "n$n")" "${ours% *}"
done

# Two days that share 190,959 keys, and a day small enough to be exact.
"$form" write "$dir/mon" 0 390808 >/dev/null
"$form" write "$dir/tue" 199849 590590 >/dev/null
"$form" write "$dir/few" 590000 591000 >/dev/null
ours=$("$form" write "$dir/union" 0 390808 199849 590590 590000 591000)
for day in mon tue few; do
    put $day "$dir/$day"
done
check "PFCOUNT of three days is that of our union" equal "$(redis PFCOUNT mon tue few)" "${ours% *}"
check "PFMERGE takes them" equal "$(redis PFMERGE all mon tue few)" OK
get all "$dir/all"
check "PFCOUNT of what PFMERGE made is ours" equal "$(redis PFCOUNT all)" "${ours% *}"
check "redis-cli gives 12,304 bytes and a line feed" equal "$(wc -c <"$dir/all")" 12305
check "what PFMERGE made is read" "$form" read "$dir/all" "$dir/all.dense"
check "its registers are ours" cmp "$dir/all.dense" "$dir/union"
"$form" read "$dir/union" "$dir/again" >/dev/null
check "our own string is written as it was read" cmp "$dir/again" "$dir/union"

# Strings that Redis makes: other hashes, the same form. 0 is the empty one, 300 are sparse.
i=0
while [ $i -lt 300 ]; do
    i=$((i + 1))
    echo "PFADD own visitor:$i"
done | redis >/dev/null
redis PFADD none >/dev/null
for key in none own; do
    get $key "$dir/$key"
    check "a string of Redis ($key) is sparse" equal "$(redis PFDEBUG ENCODING $key)" sparse
    read_as=$("$form" read "$dir/$key")
    check "read, it counts as Redis counts ($key)" equal "${read_as% *}" "$(redis PFCOUNT $key)"
done
redis PFDEBUG TODENSE own >/dev/null
get own "$dir/own.dense"
"$form" read "$dir/own" "$dir/1" >/dev/null
"$form" read "$dir/own.dense" "$dir/2" >/dev/null
check "sparse and dense are read as the same registers" cmp "$dir/1" "$dir/2"

# What Redis calls no HyperLogLog is none for us either.
head -c 12303 "$dir/mon" >"$dir/short"
{ cat "$dir/mon"; printf '\n\n'; } >"$dir/long"
{ printf 'hyll'; tail -c +5 "$dir/mon"; } >"$dir/magic"
{ printf 'HYLL\002'; tail -c +6 "$dir/mon"; } >"$dir/encoding"
head -c 16 "$dir/mon" >"$dir/head"
head -c 15 "$dir/mon" >"$dir/stub"
for bad in short long magic encoding head stub; do
    put bad "$dir/$bad"
    check "PFCOUNT refuses a string: $bad" has "$(redis PFCOUNT bad 2>&1)" WRONGTYPE
    check "PFMERGE refuses it: $bad" has "$(redis PFMERGE x mon bad 2>&1)" WRONGTYPE
    if "$form" read "$dir/$bad" >/dev/null 2>&1; then
        check "we refuse it: $bad" false
    else
        check "we refuse it: $bad" true
    fi
done
plan
