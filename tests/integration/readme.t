#!/bin/sh
# Every command that README.md shows is run: the lines that begin with "$ " in its code blocks, with the sample log in
# the place of /var/log/nginx, the daemon's real port in that of 8420, and a DESTDIR for the installation.
set -u
. "$(dirname "$0")/lib.sh"
: "${TOP_BUILDDIR:?}"
mkdir "$dir/log" "$dir/bin"
for n in 3 2 1; do
    cp "$data/demo/access.log.$n.gz" "$dir/log/"
    touch -d "2026-11-24 0$((9 - n)):00" "$dir/log/access.log.$n.gz"
done
gzip -dc "$dir/log/access.log.1.gz" | head -n 1000 >"$dir/log/access.log"
ln -s "$RECKOND" "$dir/bin/reckond"
PATH=$dir/bin:$PATH
export XDG_STATE_HOME="$dir/xdg"

# The configuration that the README shows, with this test's folder, state and port added.
awk '/^```yaml/ {on = 1; next} /^```/ {on = 0} on' "$TOP_SRCDIR/README.md" |
    sed "s|/var/log/nginx|$dir/log|" >"$dir/reckond.yaml"
check "the shortest configuration is valid" "$RECKOND" check-config -c "$dir/reckond.yaml"
cat >>"$dir/reckond.yaml" <<EOF
timezone: UTC
state: {directory: $dir/state}
http: {listen: "127.0.0.1:0"}
EOF
start_daemon --clock 2026-11-24T12:00:00Z || exit 1
wait_for 30 sh -c "curl -s http://$address/status | jq -e '.inputs[0].lag_bytes == 0 and .inputs[0].books.lines > 55000'"

sed -n 's/^\$ //p' "$TOP_SRCDIR/README.md" >"$dir/commands"
check "there are commands" test "$(wc -l <"$dir/commands")" -gt 15

# run COMMAND: as a person would type it
run() {
    case $1 in
    "./autogen.sh demo") # demo.t compares each answer; here: it runs to its end
        RECKOND=$RECKOND TOP_SRCDIR=$TOP_SRCDIR sh "$TOP_SRCDIR/tests/demo/demo.sh"
        ;;
    "./autogen.sh check" | "./autogen.sh && "*) # this very run; the shell only has to know the words
        sh -n "$TOP_SRCDIR/autogen.sh" && grep -q "^check)" "$TOP_SRCDIR/autogen.sh"
        ;;
    "make && make install")
        make -s -C "$TOP_BUILDDIR" install DESTDIR="$dir/dest" && find "$dir/dest" -name reckond -type f | grep -q sbin
        ;;
    "reckond -c reckond.yaml") # it is running
        kill -0 "$pid"
        ;;
    curl*)
        answer=$(eval "$(printf '%s' "$1" | sed "s|localhost:8420|$address|; s|^curl |curl -s --fail-with-body |")")
        code=$?
        printf '%s\n' "$answer"
        [ $code = 0 ] && [ -n "$answer" ]
        ;;
    *)
        (cd "$dir" && eval "$(printf '%s' "$1" | sed "s|/var/log/nginx|$dir/log|g")")
        ;;
    esac
}
while read -r command; do
    check "$command" run "$command"
done <"$dir/commands"
stop_daemon
plan
