"""Faults of processes: killed, stopped, short of memory, with another time."""

import signal
from contextlib import suppress

from jobs import kill

from soak import machine
from soak.fault import Fault


class KillAll(Fault):
    """As when the machine loses its power; its disk keeps what it has."""

    def inject(self, head):
        head.kill()
        return "SIGKILL to Nextflow and its tasks"


class KillHead(Fault):
    """Its tasks go on, and those of the resumed run start beside them."""

    def inject(self, head):
        head.process.kill()
        return "SIGKILL to Nextflow alone"


class Terminate(Fault):
    def inject(self, head):
        head.process.send_signal(signal.SIGTERM)
        return "SIGTERM to Nextflow"


class Interrupt(Fault):
    def inject(self, head):
        head.process.send_signal(signal.SIGINT)
        return "SIGINT to Nextflow"


class OfTask(Fault):
    """What befalls a script of a task, which is then tried again."""

    survives = True
    words: str  # before the script's name

    def strike(self, number: int) -> None:
        raise NotImplementedError

    def inject(self, head):
        if not (found := self.script(head)):
            return "no task was left"
        self.strike(found[0])
        return f"{self.words} {found[1]}"


class KillTask(OfTask):
    words = "SIGKILL to"

    def strike(self, number):
        kill([number])


class TerminateTask(OfTask):
    """As the manager of a spot machine does before it takes it away."""

    words = "SIGTERM to"

    def strike(self, number):
        kill([number], signal.SIGTERM)


class OutOfMemory(OfTask):
    """The kernel kills a task at the limit of its cgroup."""

    words = "1 MB of memory for what is allocated from now on by"

    def prepare(self):
        self.group = machine.cgroup("memory", self.case.folder.name)
        (self.group / "memory.limit_in_bytes").write_text("1M")

    def strike(self, number):
        with suppress(OSError):  # it has ended
            (self.group / "cgroup.procs").write_text(str(number))

    def repair(self):
        machine.remove(self.group)


class Clock(Fault):
    """The clock of Nextflow and its tasks is set; set back, Nextflow itself fails on a negative duration."""

    def prepare(self):
        self.clock = self.case.folder.parent / f"{self.case.folder.name}.clock"
        self.clock.write_text("+0\n")
        self.case.env = machine.false_clock(self.clock)

    def inject(self, head):
        hours = int(self.rng.choice([-48, -1, 1, 48]))
        partial = self.clock.with_suffix(".part")
        partial.write_text(f"{hours:+d}h\n")
        partial.rename(self.clock)
        return f"the clock set by {hours:+d} h"

    def repair(self):
        self.case.env = {}  # and the right time again
