#!/bin/sh
# Every endpoint of endpoint_sources has a section in doc/http-api.md, and no section is left over.
cd "${TOP_SRCDIR:-.}" || exit 1
doc=doc/http-api.md

# The files of endpoint_sources, as Makefile.am lists them.
sources=$(sed -n '/^endpoint_sources =/,/[^\\]$/p' Makefile.am | grep -o 'src/http/ep_[a-z0-9_]*\.c')
paths=
for f in $sources; do
    path=$(sed -n 's|^    \.path = "\(.*\)",$|\1|p' "$f")
    paths="$paths $path"
    [ -n "$path" ] || echo "# $f has no path"
done
sections=$(sed -n 's|^## `\(/[^` ]*\)`.*|\1|p' "$doc")

echo "1..3"
[ "$(echo "$sources" | wc -w)" -gt 5 ] && [ "$(echo "$sources" | wc -w)" -eq "$(echo "$paths" | wc -w)" ] \
    && echo "ok 1 - the endpoints are found" || echo "not ok 1 - the endpoints are found"

bad=0
for p in $paths; do
    echo "$sections" | grep -qxF -- "$p" || { echo "# $doc has no section \"## \`$p\`\""; bad=1; }
done
[ $bad = 0 ] && echo "ok 2 - each endpoint has its section" || echo "not ok 2 - each endpoint has its section"

bad=0
for s in $sections; do
    case " $paths " in *" $s "*) ;; *) echo "# $doc describes $s, which is no endpoint"; bad=1 ;; esac
done
[ $bad = 0 ] && echo "ok 3 - each section is of an endpoint" || echo "not ok 3 - each section is of an endpoint"
