"""Maps over the video of a camera: `video_test.py [unittest's options]`. Chromium plays a file of frames as its camera."""

import base64
import pathlib
import tempfile
import unittest

import numpy as np

from browser import ARGUMENTS
from fake_server import PITCH_M, axis_m
from shown_page import PageTest, TABLES, level_db

WIDTH, HEIGHT = 640, 480
GREY, GREEN = (128, 128, 128), (0, 200, 0)
# Video is compressed by its colours' differences, whose pixels are twice as large: beside a marker they mix, and colours are rounded twice.
ROUNDED = 6
SOURCE_M = (0.11, -0.09)      # the field's maximum
FIRST_M, LAST_M = axis_m(32)[0] - PITCH_M / 2, axis_m(32)[31] + PITCH_M / 2
CORNERS = ((0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8))  # of the field, in the video
FAKE = [*ARGUMENTS, "--use-fake-device-for-media-stream"]
GRANTED = "--use-fake-ui-for-media-stream"


def place_in_video(x, y):
    """Where a place of the field lies in the video, 0 to 1."""
    return tuple(0.2 + 0.6 * (value - FIRST_M) / (LAST_M - FIRST_M) for value in (x, y))


def write_video(path):
    """Grey frames with a green square where the source is, as Y4M: planes of luma and of two differences of half the size (ITU-R BT.601)."""
    rgb = np.empty((HEIGHT, WIDTH, 3))
    rgb[:] = GREY
    u, v = place_in_video(*SOURCE_M)
    column, row = round(u * WIDTH), round(v * HEIGHT)
    rgb[row - 24:row + 24, column - 24:column + 24] = GREEN
    red, green, blue = np.moveaxis(rgb, 2, 0)
    luma = 16 + (65.481 * red + 128.553 * green + 24.966 * blue) / 255
    blueness = 128 + (-37.797 * red - 74.203 * green + 112.0 * blue) / 255
    redness = 128 + (112.0 * red - 93.786 * green - 18.214 * blue) / 255
    frame = b"".join(np.round(plane).astype(np.uint8).tobytes() for plane in (luma, blueness[::2, ::2], redness[::2, ::2]))
    path.write_bytes(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F30:1 Ip A1:1 C420jpeg\n".encode() + 30 * (b"FRAME\n" + frame))


class VideoTest(PageTest):
    """What tests of video share: the camera is chosen, and the field is laid on it."""

    def choose_camera(self, expected="nearfield.background.image !== null"):
        self.page.evaluate("document.getElementById('background-panel').open = true")
        self.until(self.page, "document.getElementById('background').options.length > 2")
        self.page.select_option("#background", index=2)
        self.until(self.page, expected)

    def align(self):
        page = self.page
        self.until(page, "!document.getElementById('align').disabled && document.querySelectorAll('#places input').length === 8")
        page.click("#align")
        for corner in CORNERS:
            page.mouse.click(*page.evaluate(
                "([u, v]) => { nearfield.draw(); const { stage, background } = nearfield; const m = stage.backgroundToCanvas(background.image, nearfield.turn());"
                " const b = stage.element.getBoundingClientRect();"
                " return [b.left + stage.element.clientLeft + m[0] * u + m[2], b.top + stage.element.clientTop + m[4] * v + m[5]]; }", corner))
        self.until(page, "nearfield.background.matrix !== null")

    def layers_at(self, x, y):
        """The video's and the map's colours at a place of the field, as they lie over each other on the stage."""
        return self.page.evaluate("""([x, y]) => {
          const { stage } = nearfield;
          const { colour } = nearfield.colourAt(x, y);
          const m = stage.toCanvas;
          const w = m[6] * x + m[7] * y + m[8];
          const [left, top] = [(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w].map((value) => Math.round(value * stage.ratio));
          const video = [...stage.backgroundCanvas.getContext('2d').getImageData(left, top, 1, 1).data];
          return { video, map: colour, at: [left, top] };
        }""", [x, y])

    def expect_near(self, found, expected, what):
        self.assertLessEqual(max(abs(a - b) for a, b in zip(found[:3], expected)), ROUNDED, f"{what}: {found}, expected {expected}")


class CameraTest(VideoTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "camera.y4m"
        write_video(path)
        cls.ARGUMENTS = [*FAKE, GRANTED, f"--use-file-for-fake-video-capture={path}"]
        super().setUpClass()

    def test_the_map_lies_on_the_video_where_its_sound_is(self):
        page = self.shown(width=1280, height=800)
        self.choose_camera()
        self.assertEqual(page.evaluate("[nearfield.background.image.width, nearfield.background.image.height]"), [WIDTH, HEIGHT])
        self.until(page, "document.getElementById('caption').textContent.includes('not aligned yet')")
        self.align()
        self.until(page, "!document.getElementById('caption').textContent.includes('not aligned yet')")
        self.set("opacity", 0.7)
        source = self.layers_at(*SOURCE_M)
        self.expect_near(source["video"], GREEN, "the marker behind the source")
        self.assertAlmostEqual(source["map"][3], 0.7 * 255, delta=1)
        self.set("top", level_db(1.02) + 10)  # the maximum is a third of the range of 30 dB below the top
        source = self.layers_at(*SOURCE_M)
        self.assertAlmostEqual(source["map"][3], 0.7 * 255, delta=1)
        expected = [0.7 * value for value in TABLES["magnitude"][round(255 * 2 / 3)]]
        self.assertLess(max(abs(a - b) for a, b in zip(source["map"], expected)), 3, f"{source}, expected {expected}")
        # Twelve decibels below the maximum nothing is seen of the map, six below it something; with a threshold of 40 it is seen there too.
        away = self.layers_at(0.11 + 0.2, -0.09 + 0.2)  # exp(-4): 34 dB below
        self.assertEqual(away["map"], [0, 0, 0, 0])
        self.expect_near(away["video"], GREY, "the video beside the source")
        self.assertGreater(self.layers_at(0.11 + 0.09, -0.09)["map"][3], 30)  # exp(-0.4): 3.5 dB below
        self.set("range", 60)
        self.set("threshold-db", 40)
        self.until(page, "document.getElementById('threshold-text').textContent === '40 dB'")
        self.assertGreater(self.layers_at(0.11 + 0.2, -0.09 + 0.2)["map"][3], 30)

    def test_the_alignment_is_kept_for_camera_and_array(self):
        page = self.shown()
        self.choose_camera()
        self.align()
        aligned = page.evaluate("nearfield.background.matrix")
        self.choose("background", "none")
        self.until(page, "nearfield.background.image === null && nearfield.background.matrix === null")
        page.reload()
        self.until(page, "globalThis.nearfield !== undefined && nearfield.known.newest !== null && nearfield.known.array !== ''")
        self.choose_camera("nearfield.background.matrix !== null")
        self.assertEqual(page.evaluate("nearfield.background.matrix"), aligned)
        page.evaluate("nearfield.known.array = 'another'")
        self.until(page, "nearfield.background.matrix === null")

    def test_how_far_video_and_map_are_apart_is_said(self):
        page = self.shown()
        self.choose_camera()
        words = "document.getElementById('caption').textContent"
        self.until(page, rf"/map [\d.]+ m?s old, video [\d.]+ m?s old: (they are of one moment|the video is [\d.]+ m?s (behind|ahead))$/.test({words})")
        self.assertTrue(page.evaluate("nearfield.background.image.isCaptureKnown"))
        self.server.late_s = 0.6  # the map comes later, the video does not
        self.until(page, rf"/map [67]\d\d ms old, video .* the video is [3-7]\d\d ms ahead$/.test({words})")
        page.click("#freeze")
        self.until(page, rf"/the video is (of the map's moment|[\d.]+ m?s newer than the map)$/.test({words})")

    def test_the_video_stands_while_the_picture_is_frozen(self):
        page = self.shown()
        self.choose_camera()
        frames = "new Promise((done) => { const first = nearfield.background.image.frame; setTimeout(() => done(nearfield.background.image.frame - first), 400); })"
        self.until(page, f"{frames}.then((count) => count > 2)")
        page.click("#freeze")
        self.until(page, f"{frames}.then((count) => count === 0)")
        page.wait_for_timeout(2000)
        self.assertTrue(page.is_hidden("#prompt"))  # it stands because it was asked to
        page.click("#freeze")
        self.until(page, f"{frames}.then((count) => count > 2)")

    def test_pictures_and_clips_have_video_map_and_numbers(self):
        page = self.shown(width=1000, height=700)
        self.check("show-microphones", False)  # one is at the source
        self.choose_camera()
        self.align()
        page.click("#freeze")
        source = self.layers_at(*SOURCE_M)
        expected = [0.3 * a + b for a, b in zip(source["video"][:3], source["map"])]
        with page.expect_download() as download:
            page.click("#snapshot")
        picture = self.pixels(pathlib.Path(download.value.path()), "image/png")
        left, top = source["at"]
        self.expect_near(picture[top][left], expected, "the source in the picture")
        page.click("#freeze")
        page.click("#clip")
        self.until(page, "document.getElementById('clip').textContent.startsWith('End the clip (2 s)')")
        self.assertEqual(page.get_attribute("#clip", "aria-pressed"), "true")
        with page.expect_download() as download:
            page.click("#clip")
        self.assertRegex(download.value.suggested_filename, r"^nearfield-\d{8}T\d{6}\.\d{3}Z\.webm$")
        clip = pathlib.Path(download.value.path())
        self.assertEqual(clip.read_bytes()[:4], b"\x1a\x45\xdf\xa3")  # EBML
        frame = self.pixels(clip, "video/webm")
        self.assertLessEqual(max(abs(a - b) for a, b in zip(frame.shape, picture.shape)), 1)
        mixed = frame[top - 2:top + 3, left - 2:left + 3].mean(axis=(0, 1))
        self.assertLess(np.abs(mixed - expected).max(), 25, f"the source in the clip: {mixed}, expected {expected}")  # as compressed
        # The numbers: below the stage there are bright and dark pixels in each line of text.
        below = frame[page.evaluate("nearfield.stage.height * nearfield.stage.ratio") + 4:, :300].astype(int).sum(axis=2)
        for line in range(3):
            rows = below[17 * line:17 * line + 17]
            self.assertGreater(rows.max() - rows.min(), 200, f"line {line}")
        self.until(page, "document.getElementById('clip').textContent === 'Clip (WebM)'")

    def pixels(self, path, kind):
        """[row][column][red, green, blue] of a picture, or of a frame of a clip after a second, as the browser decodes it."""
        page = self.browser.new_page()
        self.addCleanup(page.close)
        size, text = page.evaluate("""async ([kind, data]) => {
          let [source, width, height] = [];
          if (kind === 'image/png') {
            source = await createImageBitmap(await (await fetch(`data:${kind};base64,${data}`)).blob(), { colorSpaceConversion: 'none' });
            [width, height] = [source.width, source.height];
          } else {
            source = Object.assign(document.createElement('video'), { muted: true, src: `data:${kind};base64,${data}` });
            await new Promise((done, failed) => { source.onloadeddata = done; source.onerror = () => failed(new Error(source.error.message)); });
            await source.play();
            await new Promise((done) => { source.ontimeupdate = () => { if (source.currentTime > 1) done(); }; source.onended = done; });
            source.pause();
            [width, height] = [source.videoWidth, source.videoHeight];
          }
          const context = new OffscreenCanvas(width, height).getContext('2d');
          context.drawImage(source, 0, 0);
          const pixels = context.getImageData(0, 0, width, height).data;
          let text = '';
          for (let i = 0; i < pixels.length; i += 8192) text += String.fromCharCode(...pixels.subarray(i, i + 8192));
          return [[height, width], btoa(text)];
        }""", [kind, base64.b64encode(path.read_bytes()).decode()])
        return np.frombuffer(base64.b64decode(text), np.uint8).reshape(*size, 4)[:, :, :3]

    def test_a_camera_that_is_unplugged_comes_back(self):
        page = self.shown()
        page.evaluate("""() => {
          globalThis.streams = [];
          const { mediaDevices } = navigator;
          const open = mediaDevices.getUserMedia.bind(mediaDevices);
          mediaDevices.getUserMedia = async (...wanted) => { const stream = await open(...wanted); streams.push(stream); return stream; };
        }""")
        self.choose_camera()
        page.evaluate("() => { const [track] = streams[0].getVideoTracks(); track.stop(); track.dispatchEvent(new Event('ended')); }")
        self.until(page, "document.getElementById('prompt').textContent.startsWith('The camera was unplugged')")
        self.assertIsNone(page.evaluate("nearfield.background.image"))
        page.evaluate("navigator.mediaDevices.dispatchEvent(new Event('devicechange'))")
        self.until(page, "nearfield.background.image !== null && document.getElementById('prompt').hidden")
        self.assertEqual(page.evaluate("streams.length"), 2)
        self.choose("background", "none")
        self.until(page, "streams[1].getVideoTracks()[0].readyState === 'ended'")  # the camera's light goes out

    def test_what_the_browser_says_of_a_camera_is_said_in_words(self):
        page = self.shown()
        for name, words in (("NotReadableError", "The camera gives no pictures: another program may have it."),
                            ("OverconstrainedError", "The camera that was chosen is not at this computer now.")):
            page.evaluate("(name) => { navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', name); }; }", name)
            self.choose_camera(f"document.getElementById('prompt').textContent === '{words}'")
            self.until(page, "document.getElementById('background').value === 'none'")  # it can be chosen again


class RefusedTest(VideoTest):
    ARGUMENTS = [*FAKE, "--host-resolver-rules=MAP array.test 127.0.0.1"]

    def test_a_camera_that_the_browser_refuses(self):
        page = self.shown()
        page.context.grant_permissions([])
        self.choose_camera("document.getElementById('prompt').textContent.startsWith('The browser refuses the camera: allow it')")
        self.assertFalse(page.is_hidden("#prompt"))
        self.assertEqual(page.input_value("#background"), "none")
        page.keyboard.press("Escape")
        self.until(page, "document.getElementById('prompt').hidden")

    def test_a_page_of_plain_http_from_another_host(self):
        page = self.opened(f"http://array.test:{self.server.port}/")
        self.page = page
        self.until(page, "globalThis.nearfield !== undefined && nearfield.draws.length > 0")
        self.choose_camera("document.getElementById('prompt').textContent.startsWith('The browser gives cameras to pages of this computer or behind TLS alone')")
        self.live()


class HostCameraTest(VideoTest):
    """The camera at the array, whose frames the daemon passes on."""

    ARGUMENTS = ARGUMENTS

    JPEG = """([width, height, left, top]) => {
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext('2d');
      context.fillStyle = 'rgb(128 128 128)';
      context.fillRect(0, 0, width, height);
      context.fillStyle = 'rgb(0 200 0)';
      context.fillRect(left, top, 48, 48);
      return canvas.convertToBlob({ type: 'image/jpeg', quality: 0.95 }).then((blob) => blob.arrayBuffer()).then((bytes) => [...new Uint8Array(bytes)]);
    }"""

    def setUp(self):
        super().setUp()
        page = self.browser.new_page()
        u, v = place_in_video(*SOURCE_M)
        self.server.frames = [bytes(page.evaluate(self.JPEG, [WIDTH, HEIGHT, round(u * WIDTH) - 24, round(v * HEIGHT) - 24]))]
        page.close()

    def test_the_map_lies_on_the_frames_of_the_array_s_camera(self):
        page = self.shown(width=1280, height=800)
        self.assertEqual(page.eval_on_selector_all("#background option", "(all) => all.map((one) => one.value).slice(0, 3)"), ["none", "photograph", "host"])
        self.assertEqual(self.server.frames_sent, 0)  # nobody has asked for one
        self.choose_camera()
        self.align()
        source = self.layers_at(*SOURCE_M)
        self.expect_near(source["video"], GREEN, "the marker behind the source")
        self.assertAlmostEqual(source["map"][3], 0.7 * 255, delta=1)
        self.until(page, "/map [\\d.]+ ms old, video [\\d.]+ ms old: the video is [\\d.]+ ms behind$/.test(document.getElementById('caption').textContent)")
        self.until(page, "nearfield.background.image.frame > 5")
        page.click("#freeze")
        page.wait_for_timeout(300)
        sent = self.server.frames_sent
        page.wait_for_timeout(300)
        self.assertEqual(self.server.frames_sent, sent)
        page.click("#freeze")
        self.until(page, f"nearfield.background.image.frame > {sent}")
        self.server.disconnect()
        self.until(page, "nearfield.link.isOpen")
        now = page.evaluate("nearfield.background.image.frame")
        self.until(page, f"nearfield.background.image.frame > {now} + 2")

    def test_why_the_array_s_camera_gives_nothing_is_said(self):
        self.server.camera_trouble = "daemon.page.camera: /dev/video0 is in use by another program"
        page = self.shown()
        self.choose_camera("document.getElementById('prompt').textContent === 'daemon.page.camera: /dev/video0 is in use by another program'")
        self.server.camera_trouble = ""
        self.until(page, "nearfield.background.image !== null && document.getElementById('prompt').hidden")
        self.server.camera_trouble = "daemon.page.camera: /dev/video0 was unplugged"
        self.until(page, "nearfield.background.image === null && document.getElementById('prompt').textContent.endsWith('was unplugged')")
        self.choose("background", "none")
        self.until(page, "document.getElementById('prompt').hidden")


class NoCameraTest(VideoTest):
    ARGUMENTS = [*ARGUMENTS, GRANTED]

    def test_a_computer_without_a_camera(self):
        self.shown()
        self.choose_camera("document.getElementById('prompt').textContent === 'The browser finds no camera at this computer.'")


if __name__ == "__main__":
    unittest.main()
