#!/bin/sh
# The systemd unit and the shipped configuration are sound.
set -u
. "$(dirname "$0")/lib.sh"
: "${TOP_BUILDDIR:?}"
check "the shipped configuration is valid" "$RECKOND" check-config -c "$TOP_SRCDIR/etc/reckond.yaml"
sed -e "s|@sbindir@|$(dirname "$RECKOND")|; s|@sysconfdir@|/etc|" \
    "$TOP_SRCDIR/systemd/reckond.service.in" >"$dir/reckond.service"
check "no name in the unit is left unreplaced" sh -c "! grep -n '@[a-z]*dir@' $dir/reckond.service"
if command -v systemd-analyze >/dev/null 2>&1; then
    check "systemd-analyze verify" systemd-analyze verify --man=no "$dir/reckond.service"
    check "its exposure is at most 1.5" systemd-analyze --offline=true --threshold=15 security "$dir/reckond.service"
else
    echo "# systemd-analyze is not installed: two checks left out"
fi

# Type=notify, as systemd speaks it: READY after the sockets are bound, STOPPING at the end.
cat >"$dir/reckond.yaml" <<EOF
inputs:
  - {name: web, files: ["$dir/access.log"], format: combined}
state: {directory: $dir/state}
http: {listen: "127.0.0.1:0"}
EOF
cat >"$dir/listen.py" <<'EOF'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(30)
with open(sys.argv[2], "w", buffering=1) as out:
    while True:
        text = s.recv(4096).decode()
        out.write(text + "\n")
        if "STOPPING=1" in text:
            break
EOF
: >"$dir/said"
python3 "$dir/listen.py" "$dir/notify" "$dir/said" &
pids="$pids $!"
wait_for 10 test -S "$dir/notify"
export NOTIFY_SOCKET="$dir/notify"
start_daemon || exit 1
unset NOTIFY_SOCKET
check "READY=1 is said" wait_for 10 grep -q READY=1 "$dir/said"
stop_daemon
check "STOPPING=1 is said" wait_for 10 grep -q STOPPING=1 "$dir/said"
plan
