"""Virtual time, and actors that run one at a time.

Each actor is a thread that holds the baton or waits for it. Whenever it lets time pass, it hands the
baton on to whoever is due next. So the times that were drawn decide the order of everything, and not the
machine.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable
from random import Random

START = 1_800_000_000.0
"""When a simulation starts: seconds since 1970."""

STUCK_SECONDS = 120.0
"""Seconds of real time after which a simulation that makes no step is given up."""

TAIL = 60
"""Steps of the trace that are kept to be shown."""

STACK_BYTES = 512 * 1024

Event = Callable[[], None]


class ProcessDied(BaseException):
    """The process of an actor was killed. Nothing catches it but the actor."""


class Actor:
    """One process at a time: its name, its clock, what it draws, and whether it is alive.

    ``ids`` are the UUIDs that it drew, and ``met`` the faults that it met, since its operation began.

    Args:
        name: its name in the trace.
        skew: seconds by which its clock is ahead.
    """

    def __init__(self, name: str, skew: float = 0.0) -> None:
        self.name = name
        self.skew = skew
        self.is_alive = True
        self.random = Random(name)
        self.ids: list[str] = []
        self.met: list[str] = []
        self.baton = threading.Lock()
        self.baton.acquire()
        self.finished = False


class Simulation:
    """The clock, the agenda and the trace of one run."""

    def __init__(self) -> None:
        self.now = START
        self.steps = 0
        self.current: Actor | None = None
        self.findings: list[str] = []
        self.tail: deque[str] = deque(maxlen=TAIL)
        self.is_over = False
        self.opened: Callable[[Actor, str], object] | None = None
        """Opens the store of a URL for an actor."""
        self._agenda: list[tuple[float, int, Actor | Event]] = []
        self._parked: list[Actor] = []
        self._order = itertools.count()
        self._hash = hashlib.blake2b(digest_size=16)
        self._done = threading.Lock()
        self._done.acquire()
        self._threads: list[threading.Thread] = []

    @property
    def trace(self) -> str:
        """A digest of all steps so far."""
        return self._hash.hexdigest()

    def find(self, text: str) -> None:
        """Record a finding, which ends the run: every actor dies at its next step."""
        self.findings.append(text)

    def at(self, seconds: float, event: Event) -> None:
        """Let something happen after a time, such as the arrival of a late request."""
        heapq.heappush(self._agenda, (self.now + seconds, next(self._order), event))

    def note(self, text: str) -> None:
        """Add a line to the trace."""
        line = f"{self.now - START:.6f} {text}"
        self._hash.update(line.encode())
        self.tail.append(line)

    def step(self, actor: Actor, text: str) -> None:
        """Count a storage call."""
        self.steps += 1
        self.note(f"{actor.name} {text}")

    def pause(self, seconds: float) -> None:
        """Let time pass for the actor that runs.

        Raises:
            ProcessDied: its process was killed meanwhile, or the run has ended.
        """
        me = self.current
        assert me is not None, "only actors can wait"
        heapq.heappush(self._agenda, (self.now + max(seconds, 0.0), next(self._order), me))
        self._hand_on(me)
        self._go_on(me)

    def park(self) -> None:
        """Let time pass for the actor that runs until somebody wakes it.

        Raises:
            ProcessDied: as for ``pause``.
        """
        me = self.current
        assert me is not None, "only actors can wait"
        self._parked.append(me)
        self._hand_on(me)
        self._go_on(me)

    def wake(self, actor: Actor) -> None:
        """Let an actor that is parked go on."""
        self._parked.remove(actor)
        heapq.heappush(self._agenda, (self.now, next(self._order), actor))

    def stop(self) -> None:
        """End the run: every actor dies at its next step."""
        self.is_over = True
        for actor in list(self._parked):
            self.wake(actor)

    def _go_on(self, me: Actor) -> None:
        if self.findings or self.is_over or not me.is_alive:
            raise ProcessDied

    def add(self, actor: Actor, work: Event, delay: float = 0.0) -> None:
        """Let an actor begin its work after a time."""

        def live() -> None:
            actor.baton.acquire()
            try:
                if not self.findings:
                    work()
            except ProcessDied:
                pass
            except BaseException as error:  # an actor's own fault
                self.find(f"{actor.name} stopped: {error!r}")
            actor.finished = True
            self._hand_on(actor)

        self._threads.append(threading.Thread(target=live, name=actor.name, daemon=True))
        heapq.heappush(self._agenda, (self.now + delay, next(self._order), actor))

    def run(self) -> None:
        """Run until nothing is left to do; events that are due after the last step happen, too."""
        threads, self._threads = self._threads, []
        size = threading.stack_size(STACK_BYTES)
        try:
            for thread in threads:
                thread.start()
        finally:
            threading.stack_size(size)
        self._hand_on(None)
        steps = -1
        while not self._done.acquire(timeout=STUCK_SECONDS):
            if steps == self.steps:
                raise RuntimeError(f"stuck after {self.steps} steps: {list(self.tail)[-5:]}")
            steps = self.steps
        for thread in threads:
            thread.join()

    def _hand_on(self, me: Actor | None) -> None:
        """Give the baton to the actor that is due next, and wait until it comes back."""
        while self._agenda:
            when, _, due = heapq.heappop(self._agenda)
            self.now = max(self.now, when)
            if not isinstance(due, Actor):
                due()
                continue
            self.current = due
            if due is me:
                return
            due.baton.release()
            break
        else:
            self.current = None
            self._done.release()
        if me is not None and not me.finished:
            me.baton.acquire()
