#!/bin/sh
# The include arrows of ARCHITECTURE.md: FOLDER may include headers of these folders (and its own).
# Also: one lock, in store.c; config.h of the configuration only at the top and in cli.
cd "${TOP_SRCDIR:-.}/src" || exit 1
bad=0
echo "1..3"
while read -r dir allowed; do
    for f in "$dir"/*.[ch]; do
        [ -e "$f" ] || continue
        for inc in $(sed -n 's|^#include "\([a-z0-9]*\)/.*|\1|p' "$f" | sort -u); do
            case " $dir $allowed " in *" $inc "*) ;; *) echo "# src/$f may not include $inc/"; bad=1 ;; esac
        done
    done
done <<'RULES'
base
sketch
input base
parse base
keys base parse sketch
store base sketch keys
http base keys store sketch
cli base input parse keys sketch store
RULES
[ $bad = 0 ] && echo "ok 1 - include arrows" || echo "not ok 1 - include arrows"
locks=$(grep -l 'pthread_mutex_t' -r . | sort | tr '\n' ' ')
case "$locks" in ""|"./store/store.c "|"./store/store_int.h "|"./store/store.c ./store/store_int.h ") echo "ok 2 - one lock, in store" ;;
*) echo "# pthread_mutex_t in: $locks"; echo "not ok 2 - one lock, in store" ;; esac
conf=$(grep -l '^#include "config\.h"' -r base sketch input parse keys store http 2>/dev/null | tr '\n' ' ')
[ -z "$conf" ] && echo "ok 3 - parts take their own options, not the configuration" || { echo "# config.h in: $conf"; echo "not ok 3 - parts take their own options"; }
