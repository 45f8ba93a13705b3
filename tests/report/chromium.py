"""Chromium, driven through its own protocol over a pipe: nothing beside Python is needed."""

import base64
import json
import os
import shutil
import subprocess
import tempfile

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
]


# How often it is started at the most.
STARTS = 3


class Page:
    """One page; `seen` is what it did that a report never does."""

    def __init__(self):
        binary = shutil.which("chromium")
        if not binary:
            raise SystemExit("chromium is not installed")
        # On a busy machine it may go away as it starts.
        for left in range(STARTS - 1, -1, -1):
            try:
                self.start(binary)
                break
            except (RuntimeError, BrokenPipeError):
                self.close()
                if not left:
                    raise
                print("Chromium went away as it started, and is started again")
        self.session = self.ask("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.ask(f"{domain}.enable")

    def start(self, binary):
        self.profile = tempfile.mkdtemp()
        to_read, self.to_write = os.pipe()
        self.to_hear, to_tell = os.pipe()

        # The browser reads from 3 and writes to 4, which may be taken: by way of high numbers.
        def wire():
            high = os.dup2(to_read, 60), os.dup2(to_tell, 61)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.browser = subprocess.Popen(
            [binary, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
            close_fds=False,
            preexec_fn=wire,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_tell)
        self.number, self.heard, self.session, self.seen, self.events = 0, b"", None, [], []
        self.target = self.ask("Target.createTarget", url="about:blank")["targetId"]

    def close(self):
        self.browser.terminate()
        self.browser.wait()
        os.close(self.to_write)
        os.close(self.to_hear)
        shutil.rmtree(self.profile, ignore_errors=True)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        told = json.dumps(message).encode() + b"\0"
        while told:
            told = told[os.write(self.to_write, told) :]
        while True:
            heard = self.hear()
            if heard.get("id") == self.number:
                if "error" in heard:
                    raise RuntimeError(f"{method}: {heard['error']}")
                return heard["result"]
            self.watch(heard)

    def hear(self):
        while b"\0" not in self.heard:
            more = os.read(self.to_hear, 1 << 20)
            if not more:
                raise RuntimeError("the browser is gone")
            self.heard += more
        message, self.heard = self.heard.split(b"\0", 1)
        return json.loads(message)

    def watch(self, heard):
        name, params = heard.get("method", ""), heard.get("params", {})
        self.events.append(name)
        if name == "Page.javascriptDialogOpening":
            self.seen.append(f"a dialog: {params['message']}")
            self.number += 1
            answer = {"id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
            os.write(self.to_write, json.dumps(answer | {"sessionId": self.session}).encode() + b"\0")
        elif name == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.seen.append(f"an exception: {details.get('exception', details).get('description')}")
        elif name == "Runtime.consoleAPICalled":
            self.seen.append(f"the console: {params['args']}")
        elif name == "Log.entryAdded":
            self.seen.append(f"the log: {params['entry']['text']}")
        elif name == "Network.requestWillBeSent" and not params["request"]["url"].startswith("file:"):
            self.seen.append(f"a request: {params['request']['url']}")

    def open(self, path, fragment=""):
        """Until it is drawn. By way of an empty page: another fragment alone would load nothing."""
        for url in ["about:blank", f"file://{os.path.abspath(path)}{fragment}"]:
            self.events.clear()
            self.ask("Page.navigate", url=url)
            while "Page.loadEventFired" not in self.events:
                self.watch(self.hear())

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def key(self, key, code=0):
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        for kind in ["keyDown", "keyUp"]:
            more = text if kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def dressed(self, scheme, media="screen"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)

    def sized(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        data = base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(data)
        return data

    def printed(self):
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])
