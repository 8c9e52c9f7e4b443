"""What befalls runs: a fault is a class, and a line here."""

from soak import disks, nodes, processes

FAULTS = {
    "cancelled_job": nodes.CancelledJob,
    "clock": processes.Clock,
    "damage": disks.Damage,
    "full_disk": disks.FullDisk,
    "interrupt": processes.Interrupt,
    "kill_all": processes.KillAll,
    "kill_head": processes.KillHead,
    "kill_task": processes.KillTask,
    "lost_node": nodes.LostNode,
    "out_of_memory": processes.OutOfMemory,
    "purge": disks.Purge,
    "read_only_disk": disks.ReadOnlyDisk,
    "slow_disk": disks.SlowDisk,
    "terminate": processes.Terminate,
    "terminate_task": processes.TerminateTask,
}
