#!/usr/bin/env python3
"""Runs every case of a folder whose formats this reckond knows, and compares with the case's truth.

    RECKOND=./reckond tests/cases.py FOLDER

A case is NAME.json beside its files (`config`, `files`, `expect`): report --json must give the same books,
days, distinct counts (with sets that stay exact) and most frequent keys. Single lines are in edge_cases.jsonl:
check-format --json must judge each as expected. Cases in formats that this version does not know, with framing
or of datagrams are left out and counted. Prints failures, then "passed X of Y"; exit 1 if any failed.
"""
import base64
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

RECKOND = os.environ.get("RECKOND", "./reckond")
WORK = tempfile.TemporaryDirectory()
KEY = os.path.join(WORK.name, "hash.key")
GOOD_LINE = b'203.0.113.9 - - [10/Oct/2023:13:55:36 +0000] "GET / HTTP/1.1" 200 612 "-" "good"\n'
KEY_BYTES_KEPT = 2048
# Its truth takes "%U%q" for an empty path and all of it for the query, so only its other figures are compared.
PATHS_NOT_COMPARED = {"apache_parts"}
METRICS = {
    "uniques": [{"name": "ip", "key": ["client"], "exact_until": 1000000},
                {"name": "ipua", "key": ["client", "user_agent"], "exact_until": 1000000}],
    "topk": [{"name": "paths", "key": ["path"], "k": 1000, "error": 0.00002, "confidence": 0.99},
             {"name": "status", "key": ["status"], "k": 1000, "error": 0.001, "confidence": 0.99}],
    "seen": [],
}


def write_config(config):
    """The case's settings as a file (JSON is YAML); returns its path."""
    given = {"name": "case", "files": ["/nowhere/*"], "format": config["format"]}
    given.update({k: config[k] for k in ("framing", "client") if k in config})
    whole = dict(METRICS, timezone=config.get("timezone", "local"), inputs=[given], retention="forever")
    handle, path = tempfile.mkstemp(suffix=".yaml", dir=WORK.name)
    with os.fdopen(handle, "w", encoding="utf-8") as f:
        json.dump(whole, f, ensure_ascii=False)
    return path


def run(*arguments, data=None):
    done = subprocess.run([RECKOND, *arguments], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def is_known(config_path):
    """False: not in this version. What else is wrong with a configuration is a failure of the case."""
    code, _, said = run("check-config", "-c", config_path)
    return code == 0 or "not in this version" not in said


def undo_escapes(row):
    if not row.get("key_escaped"):
        return row["key"].encode()
    def one(match):
        text = match.group(0)
        if text[1] == "\\":
            return b"\\"
        return bytes([int(text[2:], 16)]) if text[1] == "x" else chr(int(text[2:], 16)).encode()
    parts = re.split(r"(\\\\|\\x[0-9a-f]{2}|\\u[0-9a-f]{4})", row["key"])
    return b"".join(one(re.match(r"(?s).*", p)) if i % 2 else p.encode() for i, p in enumerate(parts))


def most(rows, n):
    return sorted(((undo_escapes(r), r["count"]) for r in rows), key=lambda r: (-r[1], r[0]))[:n]


def wanted_path(row):
    return base64.b64decode(row["path_base64"]) if "path_base64" in row else row["path"].encode()


def same_paths(got, wanted):
    if len(got) != len(wanted):
        return False
    for (key, count), row in zip(got, wanted):
        path = wanted_path(row)
        long = len(path) > KEY_BYTES_KEPT or len(key) >= KEY_BYTES_KEPT
        if count != row["count"] or (key[:1024] != path[:1024] if long else key != path):
            return False
    return True


def differences(name, got, wanted):
    return [] if got == wanted else [f"{name}: got {json.dumps(got)[:300]}, wanted {json.dumps(wanted)[:300]}"]


def nonzero(counts):
    return {k: v for k, v in counts.items() if v}


def day_of(day):
    return {"hits": day["hits"], "bytes": day["bytes"], "status": day["status"],
            "distinct_ip": day["uniques"]["ip"]["estimate"],
            "distinct_ip_ua": day["uniques"]["ipua"]["estimate"]}


def compare(name_of_case, answer, expect):
    books, wrong = answer["books"], []
    for name in ("lines", "counted"):
        wrong += differences(name, books[name], expect[name])
    for name in ("rejected", "skipped"):
        wrong += differences(name, nonzero(books[name]), nonzero(expect[name]))
    days = {d["day"]: day_of(d) for d in answer["days"]}
    wrong += differences("days", sorted(days), sorted(expect["days"]))
    for day, wanted in expect["days"].items():
        for name in wanted:
            wrong += differences(f"{day} {name}", days.get(day, {}).get(name), wanted[name])
    wrong += differences("distinct_ip", answer["uniques"]["ip"]["estimate"], expect["all_days"]["distinct_ip"])
    wrong += differences("distinct_ip_ua", answer["uniques"]["ipua"]["estimate"],
                         expect["all_days"]["distinct_ip_ua"])
    paths = most(answer["topk"]["paths"]["rows"], len(expect["top_paths"]))
    if name_of_case not in PATHS_NOT_COMPARED and not same_paths(paths, expect["top_paths"]):
        wrong.append(f"top_paths: got {paths}, wanted {expect['top_paths']}"[:600])
    status = [{"status": k.decode(), "count": c}
              for k, c in most(answer["topk"]["status"]["rows"], len(expect["top_status"]))]
    return wrong + differences("top_status", status, expect["top_status"])


def report_case(folder, case):
    """None: left out; else a list of what is wrong."""
    if any(f.endswith(".dgrams.jsonl") for f in case["files"]):
        return None
    config = write_config(case["config"])
    if not is_known(config):
        return None
    files = [os.path.join(folder, f) for f in case["files"]]
    code, out, said = run("report", "-c", config, "--json", "--no-progress", "--top", "1000",
                          "--hash-key", KEY, *files)
    if code != 0:
        return [f"exit code {code}: {said.strip()[:500]}"]
    return compare(case["name"], json.loads(out), case["expect"])


def line_of(case):
    return base64.b64decode(case["line_base64"]) if "line_base64" in case else case["line"].encode()


def stands_alone(case):
    """Lines whose judgement depends on their place in the file, or that change the order of the answers."""
    line = line_of(case)
    return b"\n" in line or line.startswith((b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")) or \
        "file_start" in case or len(line) > 100000


def judge(config, lines):
    _, out, said = run("check-format", "-c", config, "--json", "-", data=lines)
    rows = [json.loads(row) for row in out.splitlines()]
    return rows or [{"error": said}]


def text_of(row, name):
    if name + "_base64" in row:
        return base64.b64decode(row[name + "_base64"])
    return (row.get(name) or "").encode()


def agrees(row, expect):
    if expect.get("counted") is False:
        return row.get("counted") is False and row.get("reason") == expect["reason"]
    names = {"counted": "counted", "day": "day", "status": "status", "bytes": "bytes"}
    for theirs, ours in names.items():
        wanted = expect.get(theirs, row.get(ours))
        if row.get(ours, "absent") != (None if wanted == "-" else wanted):
            return False
    for theirs, ours in {"ip": "client", "ua": "user_agent", "path": "path"}.items():
        if theirs not in expect and theirs + "_base64" not in expect:
            continue
        wanted, got = text_of(expect, theirs), text_of(row, ours)
        if got != wanted and not (theirs != "path" and {got, wanted} <= {b"", b"-"}):
            return False
    return True


def merged(expect, other):
    """Another answer that is as good: it overrides keys, a text in either of its two forms."""
    if other.get("counted") is False:
        return other
    kept = {k: v for k, v in expect.items()
            if not any(k in (o, o + "_base64", o.removesuffix("_base64")) for o in other)}
    return {**kept, **other}


def edge_wrong(case, row):
    expect = [case["expect"]] + [merged(case["expect"], o) for o in case.get("also_ok", [])]
    if any(agrees(row, e) for e in expect):
        return []
    return [f"{case['kind']} ({case['why']}): got {row}, wanted {case['expect']}"[:700]]


def edge_group(config, cases):
    """All lines of one configuration: those that can, in one run."""
    together = [c for c in cases if not stands_alone(c)]
    rows = judge(config, b"".join(line_of(c) + b"\n" for c in together)) if together else []
    if together and len(rows) != len(together):
        yield together[0]["id"], [f"{len(rows)} answers for {len(together)} lines: {rows[:1]}"]
        return
    for case, row in zip(together, rows):
        yield case["id"], edge_wrong(case, row)
    for case in cases:
        if stands_alone(case):
            head = GOOD_LINE if case.get("file_start") is False else b""
            yield case["id"], edge_wrong(case, judge(config, head + line_of(case))[-1])


def edge_cases(path):
    groups, left_out, results = {}, 0, []
    with open(path, encoding="utf-8") as f:
        for case in map(json.loads, f):
            groups.setdefault(json.dumps(case["config"], sort_keys=True), []).append(case)
    for config, cases in groups.items():
        config_path = write_config(json.loads(config))
        if is_known(config_path):
            results += edge_group(config_path, cases)
        else:
            left_out += len(cases)
    return results, left_out


def main():
    folder = sys.argv[1]
    with open(KEY, "wb") as f:
        f.write(bytes(range(1, 193)))
    os.chmod(KEY, 0o600)
    results, left_out = [], 0
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as f:
            case = json.load(f)
        wrong = report_case(folder, case)
        if wrong is None:
            left_out += 1
        else:
            results.append((case["name"], wrong))
    reports = len(results)
    edges = os.path.join(folder, "edge_cases.jsonl")
    if os.path.exists(edges):
        more, out = edge_cases(edges)
        results += more
        left_out += out
    for name, wrong in results:
        for text in wrong:
            print(f"{name}: {text}")
    passed = sum(not wrong for _, wrong in results)
    print(f"passed {passed} of {len(results)} ({reports} files, {len(results) - reports} single lines; "
          f"{left_out} in formats that are not in this version)")
    return 0 if passed == len(results) and results else 1


if __name__ == "__main__":
    sys.exit(main())
