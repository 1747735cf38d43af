#!/bin/sh
# A real nginx writes its access log, the daemon follows it: hits, distinct visitors and top paths are exactly
# what was asked for, also after a kill -9 in the middle.
set -u
. "$(dirname "$0")/lib.sh"
if ! command -v nginx >/dev/null 2>&1; then
    echo "1..0 # SKIP nginx is not installed"
    exit 0
fi

# A port that is free now: taken from the kernel, given back, used at once.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir -p "$dir/www" "$dir/log"
chmod 755 "$dir"
for page in index about search pricing; do echo "$page" >"$dir/www/$page.html"; done
cat >"$dir/nginx.conf" <<EOF
daemon off; pid $dir/nginx.pid; error_log $dir/log/error.log; worker_processes 1;
events { worker_connections 128; }
http {
    access_log $dir/log/access.log combined;
    client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
    uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
    server { listen 127.0.0.1:$port; listen [::1]:$port; root $dir/www; }
}
EOF
nginx -p "$dir" -c "$dir/nginx.conf" 2>/dev/null &
nginx_pid=$!
pids="$pids $nginx_pid"
# A connection without a request is not logged (nginx 1.3.15 and later).
wait_for 20 python3 -c "import socket; socket.create_connection(('127.0.0.1', $port)).close()" || exit 1

cat >"$dir/reckond.yaml" <<EOF
timezone: UTC
inputs:
  - {name: web, files: ["$dir/log/access.log*"]}
state: {directory: $dir/state, commit_every: 100ms}
http: {listen: "127.0.0.1:0"}
EOF

# request AGENT PATH N: N requests with this agent
requests() {
    python3 - "$port" "$1" "$2" "$3" <<'EOF'
import http.client, sys
port, agent, path, n = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
c = http.client.HTTPConnection("127.0.0.1", port)
for i in range(n):
    c.request("GET", path, headers={"User-Agent": agent})
    c.getresponse().read()
EOF
}
start_daemon || exit 1

requests "Mozilla/5.0 one" /index.html 1000
requests "Mozilla/5.0 two" "/search.html?q=a%20b" 700
requests 'quote " and \ backslash' /about.html 300
for i in $(seq 1 50); do requests "Mozilla/5.0 visitor $i" /pricing.html 3; done
check "follows a real nginx to its last line" wait_for 20 all_read 2150
stop_daemon KILL
requests "curl/8.5.0" /missing 250
requests "Mozilla/5.0 one" /index.html 100
start_daemon || exit 1
check "goes on after kill -9" wait_for 20 all_read 2500

top=$(ask '/topk?n=5' '[.rows[] | [.key, .count]]')
check "top paths are what was asked for" equal "$top" \
    '[["/index.html",1100],["/search.html",700],["/about.html",300],["/missing",250],["/pricing.html",150]]'
check "distinct visitors are what was asked for" equal "$(ask /uniques '[.estimate,.low,.high,.exact]')" \
    '[54,54,54,true]'
check "declared humans leave curl out" equal "$(ask '/uniques?name=humans' .estimate)" 52
check "status classes" equal "$(ask /days '.rows[0] | [.hits,.status_2xx,.status_4xx]')" '[2500,2250,250]'
check "404s by path" equal "$(ask '/topk?name=not_found' '[.total,.rows[0].key,.rows[0].count]')" \
    '[250,"/missing",250]'
check "seen: yes, with the filter's rate" equal \
    "$(ask '/seen?client=127.0.0.1&user_agent=Mozilla/5.0%20visitor%207' '[.seen,.certainty]')" '[true,"probable"]'
check "seen: definitely not" equal \
    "$(ask '/seen?client=127.0.0.1&user_agent=Mozilla/5.0%20visitor%2051' '[.seen,.certainty]')" '[false,"definite"]'
check "an agent with quotes and backslashes is one key" equal \
    "$(ask '/seen?client=127.0.0.1&user_agent=quote%20%22%20and%20%5C%20backslash' .seen)" true
check "the books balance" equal "$(ask /status '[.balanced, .inputs[0].books.counted]')" '[true,2500]'

# Rotation as logrotate does it: rename, the worker goes on in the old file, then reopens.
mv "$dir/log/access.log" "$dir/log/access.log.1"
requests "Mozilla/5.0 late" /index.html 40
kill -USR1 "$nginx_pid"
wait_for 10 test -s "$dir/nginx.pid"
wait_for 10 test -e "$dir/log/access.log"
requests "Mozilla/5.0 new file" /index.html 60
check "rotation by rename loses nothing" wait_for 20 all_read 2600
check "and doubles nothing" equal "$(ask '/topk?n=1' '.rows[0].count')" 1200
stop_daemon
check "SIGTERM ends with 0" equal "$exit_code" 0
plan
