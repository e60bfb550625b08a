"""Makes the pictures of the live page that README.md and docs/ show, with a real daemon.

    build/venv/bin/python -B tests/page/screenshots.py [FOLDER_OF_nearfieldd] [--only NAME] [--to FOLDER]

A plate is simulated before 32 x 32 microphones. Each picture must be looked at before it is committed: nothing here knows what is good to
see. Pictures are written with 256 colours by Debian's python3-pil.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from browser import ARGUMENTS, CHROMIUM, until
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
PERIODS_S = 3 * 1024 / 46875  # whole periods of both tones of the scene: nothing jumps where it begins again
CONFIGURATION = """version: 1
front_end: {{window_samples: 1024, hop_samples: 65536, frequencies_hz: [1007.080078125, 2014.16015625]}}
holography: {{standoff_m: 0.03, upsample: 2}}
processors:
  here: {{kind: spectrum, points: [[0.05, -0.01]], window_samples: 4096}}
daemon:
  source: {{kind: simulate, scene: {scene}}}
  publish: {{phase_reference: stream, ring: {{socket: frames.sock}}, zmq: {{endpoint: off}}}}
  control: {{socket: control.sock}}
  recording: {{directory: off}}
  overload: {{shed_hops_ms: 2000}}
  deadlines: {{frame_ms: 60000}}
  metrics: {{address: off}}
  page: {{address: '127.0.0.1:0'}}
"""
MOVING_S, PICTURE_S = 6.0, 0.125  # of the moving picture: three cycles of the phase as the page turns it
BELOW_THE_BANNER = {"x": 0, "y": 40, "width": 1280, "height": 760}
JOIN = ("import sys; from PIL import Image; pictures = [Image.open(name).convert('RGB').resize((800, 475), Image.Resampling.LANCZOS) for name in sys.argv[2:]];"
        " palette = pictures[0].quantize(256, dither=Image.Dither.NONE); small = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures];"
        " small[0].save(sys.argv[1], save_all=True, append_images=small[1:], duration=125, loop=0, optimize=True)")
QUANTIZE = "import sys; from PIL import Image; Image.open(sys.argv[1]).convert('RGB').quantize(256, dither=Image.Dither.NONE).save(sys.argv[2], optimize=True)"
NAMES = ("map", "surface", "moving", "phone")
NOT_YET = "globalThis.nearfield !== undefined && nearfield.history.length > 2 && nearfield.known.status !== null"


def start_daemon(binaries, folder):
    scene = (ROOT / "config/scenes/plate.yaml").read_text(encoding="utf-8")
    (folder / "plate.yaml").write_text(re.sub(r"(?m)^duration_s: \S+", f"duration_s: {PERIODS_S}", scene), encoding="utf-8")
    (folder / "nearfieldd.yaml").write_text(CONFIGURATION.format(scene=folder / "plate.yaml"), encoding="utf-8")
    with open(folder / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([binaries / "nearfieldd", "-c", folder / "nearfieldd.yaml"], stderr=log, cwd=folder,
                                   env={**os.environ, "NEARFIELD_RUNTIME_DIR": str(folder)})

    def served():
        text = (folder / "log").read_text(encoding="utf-8")
        if process.poll() is not None:
            raise SystemExit(f"screenshots: nearfieldd ended: {text}")
        return re.search(r"page at (http://[^;,\s]*/)", text)

    url = until(served, "the page's address", 300)[1]
    token = until(lambda: (folder / "control.sock.page_token").exists() and (folder / "control.sock.page_token").read_text(encoding="utf-8").strip(), "the token")
    return process, f"{url}?token={token}"


class Camera:
    def __init__(self, browser, url, to, folder):
        self.browser, self.url, self.to, self.folder = browser, url, to, folder

    def shown(self, width, height, **options):
        page = self.browser.new_context(viewport={"width": width, "height": height}, **options).new_page()
        page.goto(self.url)
        self.wait(page, NOT_YET)
        return page

    @staticmethod
    def wait(page, expression):
        until(lambda: page.evaluate(expression), expression, 300)

    def freeze(self, page):
        """Freezes the page at a picture without a note, whose age thus does not say how busy this machine is."""
        self.wait(page, "(() => { const head = nearfield.known.newest?.head; if (!head || head.flags !== 0 || head.shed_hops > 0) return false;"
                        " document.getElementById('freeze').click(); return nearfield.view.isFrozen; })()")
        self.wait(page, "document.getElementById('banner').className === 'frozen' && document.getElementById('notes').textContent === ''")
        page.evaluate("for (const part of ['controls', 'panels']) document.getElementById(part).scrollTop = 0")
        page.wait_for_timeout(1000)  # panels and curves follow twice a second

    def take(self, page, name):
        self.freeze(page)
        raw = self.folder / name
        page.screenshot(path=raw)
        subprocess.run(["/usr/bin/python3", "-c", QUANTIZE, raw, self.to / name], check=True)
        page.context.close()
        print(self.to / name, flush=True)

    def choose_frequency(self, page, index):
        page.select_option("#axes select[data-axis=frequency]", str(index))
        self.wait(page, f"nearfield.known.newest?.layout.select.frequency === {index}")

    def map(self):
        page = self.shown(1280, 800, color_scheme="dark")
        self.choose_frequency(page, 1)
        page.click("#lines-panel summary")
        self.wait(page, "nearfield.lines.spectrum.graph !== null && document.querySelector('#peaks button') !== null")
        page.evaluate("nearfield.view.cursors = [{ x: 0.16, y: 0.11 }, { x: -0.09, y: 0.13 }]; document.getElementById('show-peaks').click()")
        page.click("#auto")
        self.wait(page, "/pictures at the cursors/.test(document.getElementById('series-text').textContent)")
        self.wait(page, "nearfield.history.length > 8")
        self.take(page, "page.png")

    def surface(self):
        page = self.shown(1280, 800, color_scheme="dark")
        self.choose_frequency(page, 1)
        page.select_option("#mode", "real")
        page.select_option("#form", "surface")
        page.click("#cursor-panel summary")
        page.click("#health-panel summary")
        page.click("#auto")
        self.take(page, "page_surface.png")

    def moving(self):
        """The live page for three turns of the phase: of many pictures, those nearest to times that are equally far apart."""
        page = self.shown(1280, 800, color_scheme="dark")
        self.choose_frequency(page, 1)
        page.select_option("#mode", "real")
        page.select_option("#form", "surface")
        page.click("#auto")
        self.wait(page, "nearfield.history.length > 8 && document.getElementById('notes').textContent === ''")
        page.evaluate("for (const part of ['controls', 'panels']) document.getElementById(part).scrollTop = 0")
        taken, begun_s = [], time.monotonic()
        while time.monotonic() < begun_s + MOVING_S + 0.5:
            file = self.folder / f"moving{len(taken):03d}.png"
            at_s = time.monotonic() - begun_s
            page.screenshot(path=file, clip=BELOW_THE_BANNER)
            taken.append(((at_s + time.monotonic() - begun_s) / 2, file))
        files = [min(taken, key=lambda one: abs(one[0] - index * PICTURE_S))[1] for index in range(round(MOVING_S / PICTURE_S))]
        print(f"{len(taken)} pictures, of which {len(set(files))} are used")
        subprocess.run(["/usr/bin/python3", "-c", JOIN, self.to / "live.gif", *files], check=True)
        page.context.close()
        print(self.to / "live.gif", flush=True)

    def phone(self):
        page = self.shown(390, 844, color_scheme="light", has_touch=True)
        self.choose_frequency(page, 0)
        page.select_option("#mode", "phase")
        self.take(page, "page_phone.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path, nargs="?", default=ROOT / "build/release/bin", metavar="FOLDER_OF_nearfieldd")
    parser.add_argument("--only", choices=NAMES, action="append", help="one of the pictures, not all")
    parser.add_argument("--to", type=pathlib.Path, default=ROOT / "docs/pictures", help="where the pictures are written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nearfield-") as name, sync_playwright() as playwright:
        daemon, url = start_daemon(options.binaries.resolve(), pathlib.Path(name))
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            camera = Camera(browser, url, options.to, pathlib.Path(name))
            for name in options.only or NAMES:
                getattr(camera, name)()
            browser.close()
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(60)


if __name__ == "__main__":
    main()
