#!/usr/bin/env python3
"""Ratios of `reckond report` against other programs that read the same generated log, interleaved in one run.

Nothing absolute is claimed: each figure is the median over rounds of the ratio within a round, of wall time and of
CPU time (user + system of the process and its children). Environment: RECKOND, GEN_LOG; LINES (a day, 300000),
DAYS (2), ROUNDS (9; 3 for slow programs). GoAccess and DuckDB are left out where they are not installed.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LINES = int(os.environ.get("LINES", "300000"))
DAYS = int(os.environ.get("DAYS", "2"))
ROUNDS = int(os.environ.get("ROUNDS", "9"))
RECKOND = os.environ["RECKOND"]
GEN_LOG = os.environ["GEN_LOG"]

AWK = r"""
{ day = substr($4, 2, 11); split($0, q, "\""); v = $1 " " q[6]; hits[$7]++
  if (!((day, v) in seen)) { seen[day, v]; n[day]++ } if (!(v in all)) { all[v]; t++ } }
END { for (d in n) print d, n[d]; print t; for (p in hits) print hits[p], p | "sort -rn | head -n 20" }
"""


def timed(command, stdin=None):
    """Runs a command; wall and CPU seconds, and the peak of resident memory in MB."""
    start = time.monotonic()
    with open(os.devnull, "w") as null, tempfile.TemporaryFile() as out:
        proc = subprocess.Popen(command, stdin=stdin, stdout=out, stderr=null,
                                env=dict(os.environ, LC_ALL="C", TZ="UTC"))
        _, status, usage = os.wait4(proc.pid, 0)
        proc.returncode = status
        if status != 0:
            sys.exit("%s: ended with %d" % (command[0], status))
    wall = time.monotonic() - start
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    work = tempfile.mkdtemp()
    log = os.path.join(work, "access.log")
    try:
        with open(log, "w") as f:
            subprocess.check_call([GEN_LOG, "-n", str(LINES), "-d", str(DAYS)], stdout=f)
        os.environ["XDG_STATE_HOME"] = work
        report = [RECKOND, "report", "--json", "--no-progress", "--timezone", "UTC", "--format", "combined"]
        programs = [
            ("reckond report, 1 thread", report + ["--threads", "1", log], ROUNDS),
            ("reckond report, 2 threads", report + ["--threads", "2", log], ROUNDS),
            ("wc -l", ["wc", "-l", log], ROUNDS),
            ("grep -c '\" 404 '", ["grep", "-c", '" 404 ', log], ROUNDS),
            ("mawk, the same questions, exact", ["mawk", AWK, log], min(3, ROUNDS)),
        ]
        if shutil.which("goaccess"):
            base = ["goaccess", log, "--log-format=COMBINED", "--no-global-config", "-o", os.path.join(work, "g.json")]
            others = ["REQUESTS_STATIC", "NOT_FOUND", "HOSTS", "OS", "BROWSERS", "VISIT_TIMES", "VIRTUAL_HOSTS",
                      "REFERRERS", "REFERRING_SITES", "KEYPHRASES", "STATUS_CODES", "REMOTE_USER", "CACHE_STATUS",
                      "GEO_LOCATION", "MIME_TYPE", "TLS_TYPE"]
            two = base + [x for panel in others[:13] for x in ("--ignore-panel=" + panel,)]
            programs.append(("goaccess, visitors and requests only", two, min(3, ROUNDS)))
            programs.append(("goaccess, all panels", base, min(2, ROUNDS)))
        got = {name: [] for name, _, _ in programs}
        for i in range(ROUNDS):
            for name, command, rounds in programs:
                if i < rounds:
                    got[name].append(timed(command))
        ours = got[programs[0][0]]
        print("%d lines, %.0f MB, %d days; ratio to `reckond report` with 1 thread (median of the ratios of a round)"
              % (LINES * DAYS, os.path.getsize(log) / 1e6, DAYS))
        print("%-40s %9s %9s %9s %6s" % ("program", "x wall", "x CPU", "RSS MB", "rounds"))
        for name, _, _ in programs:
            rows = got[name]
            wall = statistics.median(r[0] / o[0] for r, o in zip(rows, ours))
            cpu = statistics.median(r[1] / o[1] for r, o in zip(rows, ours))
            rss = statistics.median(r[2] for r in rows)
            print("%-40s %9.2f %9.2f %9.1f %6d" % (name, wall, cpu, rss, len(rows)))
        wc = statistics.median(o[1] / r[1] for r, o in zip(got["wc -l"], ours))
        print("reckond report costs %.1f x the CPU of wc -l" % wc)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
