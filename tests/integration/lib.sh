#!/bin/sh
# For the integration tests: TAP, a temporary folder that goes away, a daemon that is stopped at the end.
# Sourced by *.t after `set -u`. Needs RECKOND and TOP_SRCDIR from the harness.
: "${RECKOND:?}" "${TOP_SRCDIR:?}"
dir=$(mktemp -d)
data=$TOP_SRCDIR/tests/data
test_number=0
pids=

finish() {
    for p in $pids; do
        kill "$p" 2>/dev/null && wait "$p" 2>/dev/null
    done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

# check NAME COMMAND...: one TAP line; what COMMAND prints becomes comments when it fails.
check() {
    name=$1
    shift
    test_number=$((test_number + 1))
    if output=$("$@" 2>&1); then
        echo "ok $test_number - $name"
    else
        printf '%s\n' "$output" | sed 's/^/# /'
        echo "not ok $test_number - $name"
    fi
}
plan() {
    echo "1..$test_number"
}
equal() { # equal GOT WANTED
    [ "$1" = "$2" ] || {
        echo "got:    $1"
        echo "wanted: $2"
        return 1
    }
}
has() { # has TEXT PART
    case $1 in
    *"$2"*) return 0 ;;
    *)
        echo "no '$2' in:"
        echo "$1"
        return 1
        ;;
    esac
}

# wait_for SECONDS COMMAND...: polls until COMMAND succeeds.
wait_for() {
    deadline=$(($(date +%s) + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        if [ "$(date +%s)" -gt "$deadline" ]; then
            echo "# timed out: $*" >&2
            [ ! -s "$dir/daemon.err" ] || tail -n 5 "$dir/daemon.err" | sed 's/^/# /' >&2
            return 1
        fi
        sleep 0.05
    done
}

# start_daemon [ARGS]: runs it with $dir/reckond.yaml; sets pid and address.
start_daemon() {
    : >"$dir/daemon.err"
    "$RECKOND" -c "$dir/reckond.yaml" "$@" 2>>"$dir/daemon.err" &
    pid=$!
    pids="$pids $pid"
    wait_for 30 grep -q 'listening on' "$dir/daemon.err" || return 1
    address=$(sed -n 's/.*listening on \([^,]*\),.*/\1/p' "$dir/daemon.err" | tail -n 1)
}
# stop_daemon [SIGNAL]: sets exit_code.
stop_daemon() {
    kill "-${1:-TERM}" "$pid" 2>/dev/null
    exit_code=0
    wait "$pid" 2>/dev/null || exit_code=$?
}
# ask TARGET [JQ]: the answer, compact
ask() {
    curl -s --max-time 20 "http://$address$1" | jq -c "${2:-.}"
}
# all_read LINES: the first input's books have come to this many lines
all_read() {
    [ "$(ask /status '.inputs[0].books.lines')" = "$1" ]
}
