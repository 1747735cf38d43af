#!/bin/sh
# What goes wrong in operation: a clear message, the right exit code, nothing lost.
set -u
. "$(dirname "$0")/lib.sh"
line() { # line CLIENT PATH
    printf '%s - - [24/Nov/2026:11:00:00 +0000] "GET %s HTTP/1.1" 200 10 "-" "agent"\n' "$1" "$2"
}
cat >"$dir/reckond.yaml" <<EOF
timezone: UTC
inputs:
  - {name: web, files: ["$dir/log/access.log"], format: combined}
state: {directory: $dir/state, commit_every: 100ms}
http: {listen: "127.0.0.1:0"}
EOF
fails() { # fails CODE ARGS...: sets output
    wanted=$1
    shift
    code=0
    said=$(timeout 30 "$RECKOND" "$@" 2>&1 >/dev/null) || code=$?
    equal "$code" "$wanted" && printf '%s\n' "$said"
}
test_lines() { # the lines of all inputs
    [ "$(ask /status '[.inputs[].books.lines]')" = "$1" ]
}
clock="--clock 2026-11-24T12:00:00Z"

printf 'inputs:\n  - {name: web, fils: ["x"]}\n' >"$dir/bad.yaml"
check "a broken configuration is refused with its place" has "$(fails 78 -c "$dir/bad.yaml")" "bad.yaml:2:"
check "and names the nearest key" has "$(fails 78 -c "$dir/bad.yaml")" "files"
check "check-config says the same" has "$(fails 78 check-config -c "$dir/bad.yaml")" "bad.yaml:2:"
check "a missing configuration is 78" has "$(fails 78 -c "$dir/none.yaml")" "none.yaml"
check "an unknown option is 64" has "$(fails 64 --frobnicate)" "--help"
check "--help fits 24 lines" test "$("$RECKOND" --help | wc -l)" -le 24
check "--version names the program" has "$("$RECKOND" --version)" "reckond"

# shellcheck disable=SC2086
start_daemon $clock || exit 1
check "a missing log: it runs, degraded, and says which" has "$(ask /readyz '[.status, .reasons]')" degraded
mkdir "$dir/log"
line 10.0.0.1 /a >"$dir/log/access.log"
check "a log that appears later is read" wait_for 10 all_read 1
check "and it is ready" wait_for 10 test "$(ask /readyz .status)" = '"ok"'

check "a taken port is 69" has "$(
    sed "s|127.0.0.1:0|$address|; s|$dir/state|$dir/state2|" "$dir/reckond.yaml" >"$dir/second.yaml"
    fails 69 -c "$dir/second.yaml"
)" "in use"
check "a second daemon on the state is 73 and names the first" has "$(fails 73 -c "$dir/reckond.yaml")" "$pid"

check "a hostile target is 400" equal \
    "$(curl -s -o /dev/null -w '%{http_code}' --path-as-is "http://$address/uniques?from=%00&to=%zz")" 400
check "a target of 3 KiB is 414" equal "$(curl -s -o /dev/null -w '%{http_code}' \
    "http://$address/seen?key=$(head -c 3000 /dev/zero | tr '\0' a)")" 414
check "a foreign Host is 421" equal \
    "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' "http://$address/uniques")" 421
check "an unknown path is 404" equal "$(curl -s -o /dev/null -w '%{http_code}' "http://$address/../etc/passwd")" 404
check "it still answers" equal "$(ask /uniques .estimate)" 1

# Unreadable for a moment, as during a rotation. Root reads everything: then a folder stands in its place.
mv "$dir/log/access.log" "$dir/log/away"
mkdir "$dir/log/access.log"
check "a log that is no file: degraded, alive" wait_for 10 sh -c \
    "curl -s http://$address/readyz | grep -q degraded"
rmdir "$dir/log/access.log"
mv "$dir/log/away" "$dir/log/access.log"
line 10.0.0.2 /b >>"$dir/log/access.log"
check "it is back and goes on, counting once" wait_for 10 all_read 2

mkfifo "$dir/log/pipe"
stop_daemon
check "SIGTERM ends with 0" equal "$exit_code" 0
check "the state is private" equal "$(stat -c %a "$dir/state") $(stat -c %a "$dir/state/hash.key")" "700 600"
check "the database is sound" equal "$(sqlite3 "$dir/state/reckond.db" 'pragma integrity_check')" ok

cp "$dir/state/hash.key" "$dir/key"
rm "$dir/state/hash.key"
# shellcheck disable=SC2086
check "a lost hash key is 65, never a new one" has "$(fails 65 -c "$dir/reckond.yaml" $clock)" "hash.key"
head -c 192 /dev/urandom >"$dir/state/hash.key"
chmod 600 "$dir/state/hash.key"
# shellcheck disable=SC2086
check "a foreign hash key is 65" has "$(fails 65 -c "$dir/reckond.yaml" $clock)" "key"
cp "$dir/key" "$dir/state/hash.key"
chmod 644 "$dir/state/hash.key"
# shellcheck disable=SC2086
check "a key that others can read is 78" has "$(fails 78 -c "$dir/reckond.yaml" $clock)" "600"
chmod 600 "$dir/state/hash.key"
# shellcheck disable=SC2086
start_daemon $clock || exit 1
check "with its key all is there again" equal "$(ask '/uniques' '[.estimate,.exact]')" '[2,true]'
stop_daemon

cat >"$dir/reckond.yaml" <<EOF
timezone: UTC
inputs:
  - {name: web, files: ["$dir/log/access.log"], format: combined}
  - {name: two, files: ["$dir/log/*.log*"], format: combined}
state: {directory: $dir/state3, commit_every: 100ms}
http: {listen: "127.0.0.1:0"}
EOF
cp "$dir/log/access.log" "$dir/log/other.log"
line 10.0.0.9 /other >>"$dir/log/other.log"
# shellcheck disable=SC2086
start_daemon $clock || exit 1
check "two inputs: each reads its own" wait_for 10 test_lines '[2,3]'
check "a file that both match belongs to the first, with a warning" has "$(cat "$dir/daemon.err")" "also matched by input web"
stop_daemon
sed -i "s|$dir/state3|$dir/state|; /name: two/d" "$dir/reckond.yaml"

printf 'this is no database, but somebody put it here\n' >"$dir/state/reckond.db"
rm -f "$dir/state/reckond.db-wal" "$dir/state/reckond.db-shm"
# shellcheck disable=SC2086
start_daemon $clock || exit 1
check "a damaged database is set aside and said" has "$(cat "$dir/daemon.err")" "aside"
check "and counting starts anew from the files" wait_for 10 all_read 2
stop_daemon
plan
