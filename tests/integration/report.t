#!/bin/sh
# report, check-format and check-config from the outside: exit codes, messages, and the same answer to the
# byte whatever way the same lines come.
set -u
. "$(dirname "$0")/lib.sh"
XDG_STATE_HOME=$dir/state
NO_COLOR=
export XDG_STATE_HOME NO_COLOR
key=$dir/key
head -c 192 /dev/urandom >"$key"
chmod 600 "$key"
log=$dir/all.log
gzip -dc "$data/cases/real_elastic.log.gz" >"$log"
head -n 500 "$log" >"$dir/first"
tail -n +501 "$log" >"$dir/second"

report() {
    "$RECKOND" report --json --no-progress --timezone UTC --hash-key "$key" "$@" 2>"$dir/err"
}
exits() { # exits CODE PART COMMAND...: its exit code, and PART in what it says on standard error
    wanted=$1 part=$2 code=0
    shift 2
    "$@" >"$dir/out" 2>"$dir/err" </dev/null || code=$?
    equal "$code" "$wanted" && has "$(cat "$dir/err")" "$part"
}
same() { # same FILE: equal to the answer of the plain file with one thread
    cmp "$dir/one" "$1"
}
last_line_without_feed() {
    printf '%s' "$(cat "$log")" >"$dir/cut"
    report "$dir/cut" >"$dir/got"
    same "$dir/got"
}
in_pieces() { # the same bytes through a pipe that gives little at a time
    python3 -c '
import sys
data = open(sys.argv[1], "rb").read()
at = 0
for n in (1, 2, 3, 100, 4000, 70000) * len(data):
    if at >= len(data):
        break
    sys.stdout.buffer.write(data[at:at + n])
    sys.stdout.buffer.flush()
    at += n
' "$log" | report --threads "$1" - >"$dir/got"
    same "$dir/got"
}

# ---- the same lines, the same answer ----

report --threads 1 "$log" >"$dir/one"
check "a report is JSON with every line" equal "$(jq -c '[.books.lines, .books.counted]' "$dir/one")" '[3000,3000]'
for threads in 2 3 8; do
    report --threads $threads "$log" >"$dir/got"
    check "$threads threads give the same bytes as one" same "$dir/got"
done
report "$data/cases/real_elastic.log.gz" >"$dir/got"
check "so does the packed file" same "$dir/got"
report - <"$log" >"$dir/got"
check "so does standard input" same "$dir/got"
# shellcheck disable=SC2002
cat "$log" | report >"$dir/got"
check "so does a pipe without a FILE" same "$dir/got"
check "so does a pipe that gives a byte at a time, one thread" in_pieces 1
check "so does a pipe that gives a byte at a time, two threads" in_pieces 2
report "$dir/second" "$dir/first" >"$dir/got"
check "so do two files given in the wrong order" same "$dir/got"
check "so does a file whose last line has no end" last_line_without_feed
cat "$dir/first" - <"$dir/second" | report /dev/stdin >"$dir/got"
check "so does a FILE that is a pipe" same "$dir/got"

# ---- FILEs ----

gzip -c "$dir/first" >"$dir/copy.gz"
report "$dir/first" "$dir/copy.gz" "$dir/second" >"$dir/got"
check "a FILE with the same lines, packed, is skipped" equal "$(jq -c .books "$dir/got")" "$(jq -c .books "$dir/one")"
check "and named" has "$(cat "$dir/err")" "copy.gz: skipped, it holds the same lines as $dir/first"
check "also in the answer" has "$(jq -r '.warnings[]' "$dir/got")" copy.gz
check "the same FILE twice is read once" equal "$(report "$log" "$log" | jq .books.lines)" 3000
check "two files that begin alike are both read" equal \
    "$( (cat "$dir/first" && head -n 1 "$dir/second") >"$dir/longer" && report "$dir/first" "$dir/longer" | jq .books.lines)" 1001
check "a missing FILE: 66, named, with a remedy" exits 66 "$dir/none: there is no such file; look with: ls -l" \
    "$RECKOND" report --json --timezone UTC --hash-key "$key" "$dir/none" "$log"
check "the others are read" equal "$(jq .books.lines "$dir/out")" 3000
check "nothing but a missing FILE: 66" exits 66 "no such file" "$RECKOND" report "$dir/none"
check "a folder: 66" exits 66 "a folder; name the files in it" "$RECKOND" report "$dir"
gzip -c "$log" | head -c 20000 >"$dir/cut.gz"
check "an archive that is cut: 66, what came before is counted" exits 66 "cut short" \
    "$RECKOND" report --json --timezone UTC --hash-key "$key" "$dir/cut.gz"
check "that is" test "$(jq .books.counted "$dir/out")" -gt 100
if [ "$(id -u)" != 0 ]; then
    chmod 0 "$dir/first"
    check "an unreadable FILE: 66 and what to do" exits 66 sudo "$RECKOND" report "$dir/first"
    chmod 600 "$dir/first"
fi
: >"$dir/empty"
check "an empty FILE is no error" exits 0 "" "$RECKOND" report --json --hash-key "$key" "$dir/empty"
check "and has no days" equal "$(jq -c '[.from, .to, .days]' "$dir/out")" '[null,null,[]]'
on_terminal() { # on_terminal COMMAND...: with a terminal for all three streams
    python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@"
}
if python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
    on_terminal "$RECKOND" report >"$dir/out" </dev/null
    check "no FILE on a terminal: 64" equal "$?" 64
    check "and what to do" has "$(cat "$dir/out")" "name a FILE"
    check "colours on a terminal" has "$(TERM=xterm on_terminal "$RECKOND" report --hash-key "$key" "$log" </dev/null)" "$(printf '\033[1m')"
    check "none with NO_COLOR" test "$(TERM=xterm NO_COLOR=1 on_terminal "$RECKOND" report --hash-key "$key" "$log" </dev/null | grep -c "$(printf '\033\\[1m')")" = 0
else
    echo "# no terminal can be had here: its checks are left out"
fi

# ---- lines ----

echo "one fish two fish" >"$dir/fish"
check "no format fits: 65, naming formats and check-format" exits 65 "check-format" "$RECKOND" report "$dir/fish"
check "presets too" has "$(cat "$dir/err")" "vhost_combined"
check "a named format that fits nothing: 65" exits 65 "no line fits" \
    "$RECKOND" report --format common --hash-key "$key" "$dir/fish"
check "--where ignores the others under its opposite" equal \
    "$(report --where status=404 "$log" | jq -c '[.books.counted, .books.ignored]')" \
    "$(jq -c '[([.days[].status["404"] // 0] | add), {"!status=404": (.books.lines - ([.days[].status["404"] // 0] | add))}]' "$dir/one")"
check "and --where !RULE those that it names" equal \
    "$(report --where '!status=404' "$log" | jq -c '.books.ignored | keys')" '["status=404"]'
check "--ignore ignores" equal "$(report --ignore 'path=/fav*' "$log" | jq -c '.books.ignored | keys')" '["path=/fav*"]'
day=$(jq -r '.days[1].day' "$dir/one")
check "--from and --to make the others late and future" equal \
    "$(report --from "$day" --to "$day" "$log" | jq -c '[.books.late, .books.counted, .books.future, .from, .to]')" \
    "$(jq -c '[.days[0].hits, .days[1].hits, ([.days[2:][].hits] | add // 0), .days[1].day, .days[1].day]' "$dir/one")"
check "--from alone leaves the end open" equal "$(report --from "$day" "$log" | jq .books.future)" 0
check "--top gives so many rows" equal "$(report --top 3 "$log" | jq '.topk.paths.rows | length')" 3
check "--timezone moves the days" test \
    "$(report --timezone Asia/Tokyo "$log" | jq -c '[.days[].hits]')" != "$(jq -c '[.days[].hits]' "$dir/one")"
check "nginx:TEXT is a format" equal \
    "$(report --format 'nginx:$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"' "$log" | jq .books.counted)" 3000

sed 's#/May/2015:#/May/1965:#' "$log" | head -n 50 >"$dir/old"
check "a log from before 1970 is late" equal \
    "$(report "$dir/old" | jq -c '[.books.late, .books.counted, .books.future]')" '[50,0,0]'
check "unless --from says more" equal \
    "$(report --from 1965-05-01 "$dir/old" | jq -c '[.books.late, .books.counted]')" '[0,50]'
check "all of it outside the days: they are said" exits 0 \
    "outside the days 2020-01-01 to 2020-02-01; the log has 2015-05-17 to" \
    "$RECKOND" report --timezone UTC --hash-key "$key" --from 2020-01-01 --to 2020-02-01 "$log"
check "a field twice in one rule: 64 and how to say it" exits 64 "status=200|404" \
    "$RECKOND" report --where 'status=200&status=404' "$log"
check "also below its opposite, and for check-format" exits 64 "path=/a\\&b|/c" \
    "$RECKOND" check-format --ignore '!path=/a\&b&status=404&path=/c' "$log"
check "the same rule twice is one" equal \
    "$(report --ignore status=404 --ignore status=404 "$log" | jq -c --stream 'select(.[0][1] == "ignored")' | wc -l)" \
    "$(report --ignore status=404 "$log" | jq -c --stream 'select(.[0][1] == "ignored")' | wc -l)"
report --ignore "$(printf 'path=/\377')" "$log" >"$dir/got"
check "a rule that is no UTF-8 is escaped" equal "$(jq -c '.books.ignored | keys' "$dir/got")" '["path=/\\xff"]'
check "and the answer is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$dir/got"

# ---- files of different formats ----

sed 's/ "[^"]*" "[^"]*"$//' "$dir/first" >"$dir/common"
check "a FILE of no known format does not stop the others: 65, named" exits 65 "fish: skipped, no known format" \
    "$RECKOND" report --json --timezone UTC --hash-key "$key" "$dir/fish" "$log"
check "they are read" equal "$(jq -c '[.books.lines, .format]' "$dir/out")" '[3000,"combined"]'
check "it is in the answer" has "$(jq -r '.warnings[]' "$dir/out")" fish
for threads in 1 2 8; do
    report --threads $threads "$dir/second" "$dir/common" >"$dir/got"
    check "every FILE is read by its own format, $threads threads" equal \
        "$(jq -c '[.format, .books.counted, .books.rejected]' "$dir/got")" '["common, combined",3000,{}]'
done
check "also standard input" equal "$(report "$log" - <"$dir/common" | jq -c '[.format, .books.counted]')" \
    '["combined, common",3500]'
check "an empty FILE is of any" equal "$(report "$dir/empty" "$dir/common" | jq -c .format)" '"common"'

# ---- what cannot be written ----

awk 'BEGIN {
    for (year = 2015; year < 2023; year++)
        for (month = 0; month < 12; month++)
            for (day = 1; day <= 28; day++)
                printf "10.0.%d.%d - - [%02d/%s/%d:12:00:00 +0000] \"GET /%d HTTP/1.1\" 200 10 \"-\" \"a\"\n", month, day, day, \
                    substr("JanFebMarAprMayJunJulAugSepOctNovDec", 3 * month + 1, 3), year, day
}' >"$dir/dates"
little_room() { # little_room THREADS: files of at most 32 KiB, as on a full disk
    (
        trap '' XFSZ
        ulimit -f 64
        exec timeout 20 "$RECKOND" report --threads "$1" --no-progress --hash-key "$key" "$dir/dates"
    )
}
for threads in 1 2 8; do
    check "no room for the temporary file: 74 and TMPDIR, $threads threads" exits 74 "TMPDIR=FOLDER" little_room $threads
done
check "the folder is named" has "$(cat "$dir/err")" "temporary file in /"
to_full() {
    "$@" >/dev/full
}
to_closed() {
    "$@" >&-
}
for way in to_full to_closed; do
    for command in "report --json --hash-key $key $log" "report --hash-key $key $log" "check-format $log" \
        "check-format --json $log" "check-config -c $TOP_SRCDIR/etc/reckond.yaml" \
        "check-config -v -c $TOP_SRCDIR/etc/reckond.yaml" "report --help" --help --version; do
        # shellcheck disable=SC2086
        check "$way: 74, $(echo "$command" | sed "s#$dir/##g; s#$TOP_SRCDIR/##")" exits 74 "standard output: " $way "$RECKOND" $command
    done
done
bad_name=$(printf 'no\033[31mne')
check "a FILE's name cannot steer the terminal" exits 66 'no\u001b[31mne: there is no such file' "$RECKOND" report "$bad_name"
check "nor one of check-format" exits 66 'no\u001b[31mne' "$RECKOND" check-format "$bad_name"
check "nor one of a configuration" exits 78 'no\u001b[31mne' "$RECKOND" check-config -c "$bad_name"
check "nor one of report's" exits 78 'no\u001b[31mne' "$RECKOND" report -c "$bad_name" "$log"
check "nor an option" exits 64 'no\u001b[31mne' "$RECKOND" report "--$bad_name"

# ---- options and keys ----

check "an unknown option: 64 and the nearest" exits 64 "did you mean --json?" "$RECKOND" report --jsn "$log"
check "a number out of bounds: 64" exits 64 "1 to 64" "$RECKOND" report --threads 0 "$log"
check "--top over what a series keeps: 64 and how many" exits 64 "'paths' keeps 100 keys" "$RECKOND" report --top 101 "$log"
check "as many as it keeps" exits 0 "" "$RECKOND" report --top 100 --hash-key "$key" "$log"
check "a reversed range: 64" exits 64 "" "$RECKOND" report --from 2015-05-20 --to 2015-05-18 "$log"
check "a word that is no day: 64" exits 64 "mno" "$RECKOND" report --from mno "$log"
check "an unknown zone: 64" exits 64 "tz database" "$RECKOND" report --timezone Mars/Base "$log"
check "a rule that is none: 64" exits 64 "status" "$RECKOND" report --where status=6xx "$log"
check "a format that is none: 64" exits 64 "combnied" "$RECKOND" report --format combnied "$log"
check "a format string that does not compile: 78" exits 78 "" "$RECKOND" report --format 'nginx:$status $' "$log"
chmod 640 "$key"
check "a key that others may read: 78" exits 78 "0640" "$RECKOND" report --hash-key "$key" "$log"
chmod 600 "$key"
head -c 100 "$key" >"$dir/short"
chmod 600 "$dir/short"
check "a key of another size: 78" exits 78 "exactly 192" "$RECKOND" report --hash-key "$dir/short" "$log"
check "a missing configuration: 78" exits 78 "none.yaml" "$RECKOND" report -c "$dir/none.yaml" "$log"
check "a key is made for the user" exits 0 "" "$RECKOND" report "$log"
check "of 192 bytes for nobody else" equal "$(stat -c '%a %s' "$dir/state/reckond/hash.key")" "600 192"
"$RECKOND" report --json "$log" >"$dir/a" && "$RECKOND" report --json "$log" >"$dir/b"
check "so that runs repeat" cmp "$dir/a" "$dir/b"
check "without a place for it: a random one, with a note" exits 0 "hash key is a new one" \
    env XDG_STATE_HOME=/dev/null "$RECKOND" report "$log"
printf 'timezone: UTC\ninputs:\n  - {name: a, files: /x, format: common}\n  - {name: b, files: /y, format: combined}\nuniques: [{name: ips, key: client}]\nignore: [{status: 404}]\n' >"$dir/c.yaml"
check "-c --input takes format, metrics and rules of the file" equal \
    "$(report -c "$dir/c.yaml" --input b "$log" | jq -c '[.format, (.uniques | keys), (.books.ignored | keys)]')" \
    '["combined",["ips"],["status=404"]]'
check "an input that is not there: 64 and those that are" exits 64 "there are: a b" \
    "$RECKOND" report -c "$dir/c.yaml" --input c "$log"

# ---- the table ----

table() {
    "$RECKOND" report --timezone UTC --hash-key "$key" --clock 2015-05-21T12:00:00Z "$@" 2>/dev/null
}
table "$log" >"$dir/table"
check "the table fits 80 columns" test "$(LC_ALL=C.UTF-8 wc -L <"$dir/table")" -le 80
check "and 25 lines" test "$(wc -l <"$dir/table")" -le 25
check "without colours where there is no terminal" test "$(grep -c "$(printf '\033')" "$dir/table")" = 0
check "it has the visitors of the JSON" has "$(cat "$dir/table")" "$(jq -r '.uniques.visitors.estimate' "$dir/one" | sed -e ':a' -e 's/\([0-9]\)\([0-9]\{3\}\)$/\1,\2/') exact"
check "and the lists" has "$(cat "$dir/table")" "NOT FOUND (404)"
awk 'BEGIN {
    for (day = 1; day <= 30; day++)
        for (i = 0; i < day; i++)
            printf "10.0.%d.%d - - [%02d/Nov/2026:12:00:00 +0000] \"GET /%d HTTP/1.1\" 200 10 \"-\" \"a\"\n", day, i, day, i
}' >"$dir/month"
table "$dir/month" >"$dir/table"
check "a month is seven days and weeks" equal \
    "$(sed 1,5d "$dir/table" | grep -c ' - .* Nov\|^[A-Z][a-z][a-z] [0-9]* Nov ')" 11
check "that add up" has "$(grep '^all' "$dir/table")" 465

check "what to try next has a day of the log" has "$(cat "$dir/table")" "--from 2026-11-30"
awk 'BEGIN {
    for (i = 0; i < 5000; i++)
        printf "10.1.%d.%d - - [01/Sep/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 10 \"-\" \"a\"\n", i / 250, i % 250
}' | cat - "$dir/month" >"$dir/months"
table "$dir/months" >"$dir/table"
check "days before the weeks have a row" has "$(cat "$dir/table")" before
check "without a bar" equal "$(grep '^before' "$dir/table" | grep -c █)" 0
check "and the weeks' bars are measured by the weeks" equal "$(grep ' - .* Nov .*█' "$dir/table" | grep -o '█*$' | wc -L)" 12

# ---- check-format, check-config ----

(head -n 30 "$log" && echo "one fish two fish" && head -n 20 "$log" && echo "two fish") >"$dir/mixed"
"$RECKOND" check-format --format combined --lines 1 "$dir/mixed" >"$dir/out"
check "a line that does not fit is shown however late it comes" equal "$(grep '^line ' "$dir/out")" \
    "$(printf 'line 1: combined\nline 31: not understood: bad_format')"
check "with its place and a caret" has "$(cat "$dir/out")" "$(printf '  one fish two fish\n           ^\n  user, column 10: expected')"

check "check-format shows fields and counts" has "$("$RECKOND" check-format --lines 1 "$log")" "counted 3000"
check "a line that does not fit: where and what was expected" has \
    "$("$RECKOND" check-format --format combined "$dir/fish")" "user, column 10: expected"
check "none fits: 65" exits 65 "" "$RECKOND" check-format --format combined "$dir/fish"
check "a missing FILE: 66" exits 66 "no such file" "$RECKOND" check-format "$dir/none"
check "--json has an object for every line" equal "$("$RECKOND" check-format --json "$log" | jq -s length)" 3000
check "an unknown option: 64" exits 64 "--lines" "$RECKOND" check-format --line 3 "$log"
check "check-config takes the shipped file" exits 0 "" "$RECKOND" check-config -c "$TOP_SRCDIR/etc/reckond.yaml"
"$RECKOND" check-config -v -c "$TOP_SRCDIR/etc/reckond.yaml" >"$dir/v.yaml"
check "-v prints what reads back to the same" equal \
    "$("$RECKOND" check-config -v -c "$dir/v.yaml")" "$(cat "$dir/v.yaml")"
check "and what it costs" has "$(cat "$dir/v.yaml")" "# memory: at most"
check "an argument too many: 64" exits 64 "-c FILE" "$RECKOND" check-config "$dir/v.yaml"
for command in report check-format check-config; do
    check "$command --help is for 80 columns" test "$("$RECKOND" $command --help | wc -L)" -le 80
done
plan
