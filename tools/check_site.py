"""Open every page of the site in a browser, and fail if a page is wider than its window.

    make docs && python tools/check_site.py            # the site in build/docs
    python tools/check_site.py DIRECTORY               # another one

Each page is opened at five widths, from a phone's to a laptop's. Blocks of code may scroll in boxes
of their own; everything else must fit. No label of a picture may be cut off.

Chromium or Chrome loads check_site.html from a server that this script runs on the loopback
interface. That page opens all others in a frame, which measures them, and sends what it found.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DRIVER = Path(__file__).with_suffix(".html")
WIDTHS = [375, 768, 1024, 1180, 1366]
BROWSERS = ["chromium", "google-chrome", "chromium-browser", "chrome"]
LIMIT = 300  # seconds; the whole site takes 20 on two processors


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a site and the page that measures it, and takes what that page found."""

    found: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def do_GET(self) -> None:
        """Send a file of the site, the page that measures, or what that page shall open."""
        if self.path == "/check_site.html":
            self.send(DRIVER.read_bytes(), "text/html")
        elif self.path == "/check_site.json":
            site = Path(self.directory)
            files = sorted([*site.rglob("*.html"), *site.rglob("_images/*.svg")])
            pages = [file.relative_to(site).as_posix() for file in files]
            self.send(json.dumps([pages, WIDTHS]).encode(), "application/json")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        """Take what the page found."""
        text = self.rfile.read(int(self.headers["Content-Length"]))
        self.send(b"", "text/plain")
        self.found.put(json.loads(text))

    def send(self, content: bytes, kind: str) -> None:
        """Send an answer."""
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing for each file."""


def browser() -> str:
    """Return the path of an installed browser; exit if there is none."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    sys.exit(f"no browser: install one of {', '.join(BROWSERS)}")


def check(site: Path) -> list[str]:
    """Return what is too wide or cut off, a line for each."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser(), "--headless", "--disable-gpu", f"--user-data-dir={profile}"]
        command += ["--no-sandbox"] * (os.getuid() == 0)  # the sandbox does not start for root
        command += ["--window-size=1500,1000"]
        command += [f"http://127.0.0.1:{server.server_port}/check_site.html"]
        running = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            return Handler.found.get(timeout=LIMIT)
        except queue.Empty:
            return [f"the browser measured nothing in {LIMIT} s"]
        finally:
            running.terminate()
            running.wait()
            server.shutdown()


def main() -> int:
    """Print what is too wide; return 1 if there is any."""
    site = Path(*sys.argv[1:2] or [ROOT / "build/docs"])
    if not (site / "index.html").exists():
        sys.exit(f"{site} has no index.html: run make docs")
    found = check(site)
    print("\n".join(found) or "every page fits in its window")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
