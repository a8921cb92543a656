"""Logs the same records with Python's logging, or with fapilog. Reads the order from standard input.

Prints one line of JSON: the figures. The time ends when everything is in the file, and every record was counted.
"""

import json
import logging
import os
import sys
import time

WARM_UP = 1000


def open_logging(folder):
    path = os.path.join(folder, "log")
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("bench")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.INFO)

    def write(record):
        logger.info(json.dumps(record, separators=(",", ":")))

    return write, handler.flush, [path]


def open_fapilog(folder, workers):
    import asyncio

    try:
        from fapilog import LoggerBuilder
    except ImportError:
        raise SystemExit("fapilog is not installed: python3 -m pip install fapilog")

    logger = (
        LoggerBuilder()
        .with_level("INFO")
        .add_file(directory=folder, max_bytes=2**30)
        .with_workers(workers)
        .with_backpressure(wait_ms=10_000, drop_on_full=False)
        .build()
    )

    def write(record):
        logger.info(record["msg"], **{k: v for k, v in record.items() if k not in ("msg", "level")})

    def end():
        asyncio.run(logger.stop_and_drain())

    return write, end, None


def count_lines(folder):
    count = 0
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            count += sum(1 for _ in file)
    return count


def main():
    order = json.load(sys.stdin)
    folder, records, count = order["folder"], order["records"], order["count"]
    os.makedirs(folder, exist_ok=True)
    if order["logger"] == "fapilog":
        write, end, _ = open_fapilog(folder, order["options"].get("workers", 2))
    else:
        write, end, _ = open_logging(folder)
    for index in range(WARM_UP):
        write(records[index % len(records)])
    times = []
    started = time.perf_counter()
    if order["work"] == "latency":
        for index in range(count):
            begun = time.perf_counter_ns()
            write(records[index % len(records)])
            times.append((time.perf_counter_ns() - begun) / 1000)
    else:
        for index in range(count):
            write(records[index % len(records)])
    end()
    seconds = time.perf_counter() - started
    found = count_lines(folder)
    if found < count + WARM_UP:
        raise SystemExit(f"{found} of {count + WARM_UP} records are in the file")
    figures = {"rate": count / seconds}
    if times:
        times.sort()
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            figures[name] = times[int(share * (len(times) - 1))]
    print(json.dumps(figures))


main()
