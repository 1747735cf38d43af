#!/bin/sh
# 20 SIGKILLs at random moments while a writer appends and rotates by rename: every line is counted once.
set -u
. "$(dirname "$0")/lib.sh"
kills=${KILLS:-20}
cat >"$dir/reckond.yaml" <<EOF
timezone: UTC
inputs:
  - {name: web, files: ["$dir/log/access.log*"], format: combined}
topk:
  - {name: paths, key: path, k: 1000, error: 0.0001}
state: {directory: $dir/state, commit_every: 50ms}
http: {listen: "127.0.0.1:0"}
EOF
mkdir "$dir/log"
# The writer: line i has path /p<i mod 1000> and its own agent; now and then half a line, a rotation by rename
# with writes to the old descriptor behind it. Ends when told; then writes how many lines there are.
cat >"$dir/writer.py" <<'EOF'
import os, random, sys, time
log, stop, done = sys.argv[1], sys.argv[2], sys.argv[3]
r = random.Random(7)
fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
i = rotated = 0
old = None
while not os.path.exists(stop):
    for f in ([fd] if old is None else [fd, old]):
        lines = []
        for _ in range(r.randint(1, 60)):
            lines.append('10.0.%d.%d - - [24/Nov/2026:11:%02d:%02d +0000] "GET /p%d HTTP/1.1" 200 10 "-" "agent %d"\n'
                         % (i >> 8 & 255, i & 255, i // 60 % 60, i % 60, i % 1000, i))
            i += 1
        text = ''.join(lines).encode()
        cut = r.randint(0, len(text))
        os.write(f, text[:cut])
        if r.random() < .3:
            time.sleep(.002)
        os.write(f, text[cut:])
    if old is not None and r.random() < .5:
        os.close(old)
        old = None
    if old is None and r.random() < .02 and rotated < 60:
        rotated += 1
        os.rename(log, '%s.%d' % (log, rotated))
        old, fd = fd, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    time.sleep(.003)
with open(done + '.tmp', 'w') as f:
    f.write('%d %d\n' % (i, rotated))
os.rename(done + '.tmp', done)
EOF
python3 "$dir/writer.py" "$dir/log/access.log" "$dir/stop" "$dir/done" &
writer=$!
pids="$pids $writer"
wait_for 10 test -s "$dir/log/access.log" || exit 1
clock=2026-11-24T12:00:00Z
seed=$$
for _ in $(seq 1 "$kills"); do
    "$RECKOND" -c "$dir/reckond.yaml" --clock $clock 2>>"$dir/daemon.err" &
    victim=$!
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    python3 -c "import time; time.sleep(.03 + $((seed / 65536 % 400)) / 1000)"
    kill -KILL $victim 2>/dev/null
    wait $victim 2>/dev/null
done
touch "$dir/stop"
wait_for 20 test -e "$dir/done" || exit 1
read -r lines rotations <"$dir/done"
echo "# $lines lines, $rotations rotations, $kills kills"
start_daemon --clock $clock || exit 1
check "all lines are counted" wait_for 30 all_read "$lines"
sleep 0.6 # what would be counted twice has the time to show
check "and none twice" equal "$(ask /status '.inputs[0].books | [.lines, .counted]')" "[$lines,$lines]"
wanted=$(python3 -c "
n = $lines
print(sum(((n - p + 999) // 1000) ** 2 for p in range(min(n, 1000))))")
check "every key has its count" equal \
    "$(ask '/topk?n=1000&from=2026-11-24&to=2026-11-24' '[.rows[].count] | map(. * .) | add')" "$wanted"
check "the total agrees" equal "$(ask '/topk?n=1' .total)" "$lines"
check "distinct visitors within three standard errors" test "$(ask /uniques \
    "(.estimate - $lines | fabs) <= 3 * .relative_standard_error * $lines + 0.5")" = true
check "the books balance" equal "$(ask /status .balanced)" true
stop_daemon
plan
