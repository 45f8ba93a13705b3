"""Drives Chromium through the DevTools protocol over a pipe. It needs no package besides Python."""

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


# Maximum number of starts.
STARTS = 3


class Page:
    """One page. `seen` lists side effects that a report must not have."""

    def __init__(self):
        binary = shutil.which("chromium")
        if not binary:
            raise SystemExit("chromium is not installed")
        # On a busy machine, the browser can exit during its start.
        for left in range(STARTS - 1, -1, -1):
            try:
                self.start(binary)
                break
            except (RuntimeError, BrokenPipeError):
                self.close()
                if not left:
                    raise
                print("Chromium exited during its start; starting it again")
        self.session = self.ask("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.ask(f"{domain}.enable")

    def start(self, binary):
        self.profile = tempfile.mkdtemp()
        browser_input, self.to_browser = os.pipe()
        self.from_browser, browser_output = os.pipe()

        # The browser reads from 3 and writes to 4. High numbers are used first, as 3 or 4 may be
        # open.
        def wire():
            high = os.dup2(browser_input, 60), os.dup2(browser_output, 61)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.browser = subprocess.Popen(
            [binary, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
            close_fds=False,
            preexec_fn=wire,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(browser_input)
        os.close(browser_output)
        self.number, self.buffer, self.session, self.seen, self.events = 0, b"", None, [], []
        self.target = self.ask("Target.createTarget", url="about:blank")["targetId"]

    def close(self):
        self.browser.terminate()
        self.browser.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data) :]
        while True:
            reply = self.receive()
            if reply.get("id") == self.number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]
            self.watch(reply)

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.from_browser, 1 << 20)
            if not more:
                raise RuntimeError("the browser has exited")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def watch(self, reply):
        name, params = reply.get("method", ""), reply.get("params", {})
        self.events.append(name)
        if name == "Page.javascriptDialogOpening":
            self.seen.append(f"a dialog: {params['message']}")
            self.number += 1
            answer = {"id": self.number, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
            os.write(self.to_browser, json.dumps(answer | {"sessionId": self.session}).encode() + b"\0")
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
        """Opens a page and waits until it is loaded.

        An empty page is loaded first, because a change of the fragment alone loads nothing.
        """
        for url in ["about:blank", f"file://{os.path.abspath(path)}{fragment}"]:
            self.events.clear()
            self.ask("Page.navigate", url=url)
            while "Page.loadEventFired" not in self.events:
                self.watch(self.receive())

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
