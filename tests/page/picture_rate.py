"""Pictures a second that Chromium shows without a GPU, and their ages when they are drawn: a measurement, no test.

    build/venv/bin/python -B tests/page/picture_rate.py [--gate]

With --gate it ends with 1 where a map in a window of 1280 x 800 has less than LEAST_HZ pictures a second.
"""

import argparse
import pathlib
import statistics
import sys
import time

from browser import ARGUMENTS, CHROMIUM, until
from fake_server import FakeServer
from playwright.sync_api import sync_playwright

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "src/page/assets"
MEASURED_S = 5
LEAST_HZ = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", action="store_true", help="hold the rate of maps to its bound")
    options = parser.parse_args()
    rates_hz = {}
    server = FakeServer(ASSETS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for width, height in ((1280, 800), (390, 844)):
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(server.url)
            until(lambda: page.evaluate("globalThis.nearfield !== undefined && nearfield.draws.length > 10"), "pictures")
            for form in ("map", "surface"):
                page.select_option("#form", form)
                page.evaluate("nearfield.draws.length = 0")
                began = time.monotonic()
                page.wait_for_timeout(1000 * MEASURED_S)
                draws = page.evaluate("nearfield.draws")
                rate_hz = len(draws) / (time.monotonic() - began)
                rates_hz[width, height, form] = rate_hz
                age_ms = statistics.median(draw["age_ms"] for draw in draws)
                print(f"{width} x {height}, {form}: {rate_hz:.1f} pictures a second, median age {age_ms:.0f} ms", flush=True)
            page.close()
        browser.close()
    server.close()
    found_hz = rates_hz[1280, 800, "map"]
    if options.gate and found_hz < LEAST_HZ:
        sys.exit(f"picture_rate: expected at least {LEAST_HZ} pictures a second of a map in a window of 1280 x 800, found {found_hz:.1f}")


if __name__ == "__main__":
    main()
