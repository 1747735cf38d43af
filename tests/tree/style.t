#!/bin/sh
# What a reviewer need not look for: lengths, tabs, calls without a length, leftovers, tests that
# assert nothing, and what an editor or a build machine leaves in files.
cd "${TOP_SRCDIR:-.}" || exit 1

# report NUMBER NAME FINDINGS
report() {
    if [ -z "$3" ]; then
        echo "ok $1 - $2"
    else
        printf '%s\n' "$3" | cut -c 1-120 | sed -n '1,20s/^/# /p; 21s/.*/# .../p'
        echo "not ok $1 - $2"
    fi
}

# What git tracks or would; where there is no git, what a released tree holds.
project_files() {
    if [ -n "$(git ls-files --cached --others --exclude-standard Makefile.am 2>/dev/null)" ]; then
        git ls-files --cached --others --exclude-standard
    else
        find src tests doc etc systemd contrib debian ./*.md LICENSE Makefile.am configure.ac \
            autogen.sh -type f 2>/dev/null
    fi | grep -Ev '\.(log|trs|o|a|gcno|gcda)$|/\.(deps|dirstamp)|__pycache__' |
        while read -r f; do [ -f "$f" ] && echo "$f"; done
}

# grep with file and line; the second file makes it name the first when it is alone.
find_in() {
    files=$1
    shift
    printf '%s\n' "$files" | tr '\n' '\0' | xargs -0 grep -nIE "$@" /dev/null
}

all=$(project_files)
src=$(printf '%s\n' "$all" | grep -E '^src/.*\.[ch]$')
c=$(printf '%s\n' "$all" | grep -E '\.[ch]$')
# Corpora and samples are bytes and may hold anything; programs have no dot in their name.
texts=$(printf '%s\n' "$all" | grep -Ev '^tests/(data|fuzz)/|\.(gz|zst|png|ico|woff2)$' |
    grep -E '\.[a-z]+(\.in)?$|^(\./)?(debian|\.ci|LICENSE)')

echo "1..7"
report 1 "no C file of src has over 600 lines" \
    "$(for f in $src; do n=$(wc -l <"$f"); [ "$n" -le 600 ] || echo "$f: $n"; done)"
report 2 "no tabs in C files" \
    "$(find_in "$c" "$(printf '\t')")"
report 3 "no call in src that knows no length" \
    "$(find_in "$src" '(^|[^A-Za-z0-9_])(v?sprintf|strcpy|strcat|gets|atoi|strtok) *\(')"
report 4 "nothing in src is left to do" \
    "$(find_in "$src" '(^|[^A-Za-z0-9_])(TODO|FIXME|XXX)([^A-Za-z0-9_]|$)')"
report 5 "every unit test asserts" \
    "$(for f in tests/unit/test_*.c; do grep -q CU_ASSERT "$f" || echo "$f"; done)"
report 6 "no NUL in a text" \
    "$(for f in $texts; do [ "$(tr -d '\000' <"$f" | wc -c)" -eq "$(wc -c <"$f")" ] || echo "$f"; done)"
report 7 "no path of the machine that wrote it" \
    "$(find_in "$all" '(^|[^A-Za-z0-9_.}/-])/(work|tmp/h)([^A-Za-z0-9_-]|$)')"
