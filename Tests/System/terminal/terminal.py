"""A pseudo-terminal with a program in it, and its screen."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading

import pyte

from harness.machine import TIMEOUT, end_with_us

CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>78]|[\x00-\x08\x0e-\x1f]")


def prepare():
    """Gives a program the terminal, and the usual reaction to Ctrl-C, which a script in the background turns off."""
    end_with_us()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A program that runs in a terminal of the given size."""

    def __init__(self, command, environment, add_cleanup, columns=100, lines=30):
        self._changed = threading.Condition()
        self._text, self._matched, self._is_over = "", 0, False
        self.screen = pyte.Screen(columns, lines)
        stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        self._set_size(columns, lines)
        self.first_modes = self.modes()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
            preexec_fn=prepare,
        )
        os.close(slave)
        threading.Thread(target=self._read, args=[stream], daemon=True).start()
        add_cleanup(self.kill)

    def _set_size(self, columns, lines):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def modes(self):
        """The state of the terminal: echo, line mode and so on."""
        return termios.tcgetattr(self._master)

    def expect_end(self):
        """Waits until all programs have left the terminal."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._is_over, TIMEOUT)

    def _read(self, stream):
        raw = b""
        while True:
            try:
                piece = os.read(self._master, 65536)
            except OSError:
                piece = b""
            with self._changed:
                if not piece:
                    self._is_over = True
                    self._changed.notify_all()
                    return
                stream.feed(piece)
                raw += piece
                # A character may be cut at the end of a piece.
                self._text = CONTROL.sub("", raw.decode(errors="ignore")).replace("\r", "")
                self.raw = raw
                self._changed.notify_all()

    def expect(self, text):
        """Waits until the output has a text behind the last expected one. Control sequences do not count."""
        with self._changed:
            found = self._changed.wait_for(lambda: text in self._text[self._matched:] or self._is_over, TIMEOUT)
            assert found and text in self._text[self._matched:], f"no {text!r} in {self._text[self._matched:]!r}"
            start = self._matched
            self._matched = self._text.index(text, start) + len(text)
            return self._text[start:self._matched]

    def expect_screen(self, condition):
        """Waits until a condition holds for the lines of the screen; returns them."""
        def lines():
            return [line.rstrip() for line in self.screen.display if line.strip()]

        with self._changed:
            found = self._changed.wait_for(lambda: condition(lines()) or self._is_over, TIMEOUT)
            assert found and condition(lines()), "\n".join(lines())
            return lines()

    def send(self, text):
        """Types a text."""
        self.send_bytes(text.encode())

    def send_bytes(self, data):
        """Types bytes."""
        while data:
            data = data[os.write(self._master, data):]

    def enter(self, text):
        self.send(text + "\r")

    def resize(self, columns, lines):
        """Changes the size of the window, of which the kernel notifies the program with SIGWINCH."""
        with self._changed:
            self.screen.resize(lines, columns)
        self._set_size(columns, lines)

    def interrupt(self):
        """Types Ctrl-C."""
        self.send("\x03")

    def status(self):
        """Waits for the end of the program; returns its status."""
        return self.process.wait(TIMEOUT)

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(TIMEOUT)
