#!/bin/sh
# In a git checkout:
#   ./autogen.sh          makes ./configure, as everywhere; then ./configure && make && make check
#   ./autogen.sh demo     installs what is missing, builds in build/ and replays the sample log
#   ./autogen.sh check    the same up to the tests; ends with "N passed, N failed, N skipped"
#   ./autogen.sh build    the same up to the program: build/reckond
set -eu
cd "$(dirname "$0")"

build_packages="autoconf automake pkgconf gcc make libc6-dev libmicrohttpd-dev libcjson-dev
    libxxhash-dev libyaml-dev libsqlite3-dev zlib1g-dev libzstd-dev libcunit1-dev"
test_packages="curl jq python3 nginx-light sqlite3 tzdata zstd gzip mawk procps
    redis-server redis-tools"

installed() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'
}

# Says what is missing, then installs it; without apt-get or the right to use it, says what to type.
install_missing() {
    missing=
    command -v dpkg-query >/dev/null 2>&1 || return 0
    for package in "$@"; do
        installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    echo "Packages to install:$missing"
    run=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "autogen.sh: not root and no sudo; please run: apt-get install$missing" >&2
            exit 1
        fi
        run=sudo
    fi
    $run apt-get update -q >/dev/null || echo "autogen.sh: apt-get update failed, trying on" >&2
    # A service that a package brings is not to be started: the tests start their own.
    policy=
    if [ ! -e /usr/sbin/policy-rc.d ] && [ -z "$run" ]; then
        policy=/usr/sbin/policy-rc.d
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod +x $policy
    fi
    status=0
    # shellcheck disable=SC2086
    $run env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing \
        >/dev/null || status=$?
    [ -z "$policy" ] || rm -f $policy
    if [ $status != 0 ]; then
        echo "autogen.sh: apt-get install$missing failed" >&2
        exit 1
    fi
}

# older MADE SOURCE: MADE is missing or older than SOURCE.
older() {
    [ ! -e "$1" ] || [ -n "$(find "$2" -newer "$1")" ]
}

make_configure() {
    for tool in autoconf automake pkg-config; do
        command -v "$tool" >/dev/null 2>&1 || lacking="${lacking-} $tool"
    done
    if [ -n "${lacking-}" ]; then
        echo "autogen.sh: not found:${lacking}" >&2
        echo "  Debian: apt-get install autoconf automake pkgconf" >&2
        echo "  Fedora: dnf install autoconf automake pkgconf-pkg-config" >&2
        exit 1
    fi
    autoreconf --force --install --warnings=all
}

build() {
    if older configure configure.ac || older Makefile.in Makefile.am; then
        echo "Making configure"
        make_configure >/dev/null 2>&1 || make_configure
    fi
    mkdir -p build
    if older build/Makefile configure; then
        echo "Configuring in build/"
        (cd build && ../configure -C --enable-werror CFLAGS="${CFLAGS--O2 -g}" >configure.out 2>&1) || {
            cat build/configure.out
            exit 1
        }
    fi
    echo "Building"
    make -s -C build -j"$(nproc)" all
}

# The harness's totals as one line, whatever happened.
totals() {
    find build -name '*.trs' -exec cat {} + | awk '
        /^:test-result: (PASS|XFAIL)/ {passed++}
        /^:test-result: (FAIL|XPASS|ERROR)/ {failed++}
        /^:test-result: SKIP/ {skipped++}
        END {printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped}'
}

case "${1-}" in
"")
    make_configure
    echo "Now run: ./configure && make && make check"
    ;;
build)
    # shellcheck disable=SC2086
    install_missing $build_packages
    build
    ;;
demo)
    # shellcheck disable=SC2086
    install_missing $build_packages curl jq
    build
    exec make -s -C build demo
    ;;
check)
    # shellcheck disable=SC2086
    install_missing $build_packages $test_packages
    build
    status=0
    find build -name '*.trs' -delete
    make -s -C build -j"$(nproc)" check || status=$?
    totals
    exit $status
    ;;
*)
    echo "usage: ./autogen.sh [demo|check|build]" >&2
    exit 64
    ;;
esac
