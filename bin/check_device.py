#!/usr/bin/env python3
"""Check the extras that a run needs and the GPUs that its tasks can use; end it with advice without them."""

from airrvec.core import script, settings
from airrvec.core.devices import require_torch
from airrvec.core.errors import EXTRAS, InputError, exit_on_input_error, require_extra
from airrvec.core.terminal import print_lines

PURPOSES = {
    "learn": "training",
    "plm": "a protein language model",
    "tensorboard": "--train_logger tensorboard",
    "mlflow": "--train_logger mlflow",
}


def parse_args(argv=None):
    parser = script.parser(__doc__)
    settings.add(parser, "device", default="gpu", help="auto: only warn")
    parser.add_argument("--extras", nargs="*", choices=EXTRAS, default=[], help="extras that the run needs")
    settings.add(parser, "train_devices")
    parser.add_argument("--executor", default="local", help="Nextflow's executor, for the advice")
    parser.add_argument("--container", default="", help="Nextflow's container engine, for the advice")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    for extra in args.extras:
        require_extra(extra, PURPOSES[extra])
    if args.device == "cpu":
        script.write_versions(args)
        return
    require_torch()
    import torch

    problem = problem_of(torch, args.train_devices)
    if problem and args.device == "gpu":
        otherwise = "or give --device auto, to compute on what there is"
        raise InputError(problem, fix=f"{remedy(args.executor, args.container)}; {otherwise}")
    if problem:
        print_lines(f"WARNING: {problem}; training and embedding compute on what there is.")
    else:
        names = [torch.cuda.get_device_name(number) for number in range(args.train_devices)]
        print_lines(f"Training computes on {', '.join(names)}; each task that embeds, on one GPU.")
    script.write_versions(args, "torch")


def problem_of(torch, needed: int) -> str | None:
    """Return why ``torch`` cannot compute on ``needed`` GPUs, or None if it can."""
    if torch.version.cuda is None:
        return f"a GPU was asked for, but torch {torch.__version__} is a build for CPUs alone"
    n_devices = torch.cuda.device_count()
    if n_devices < needed:
        seen = f"{n_devices} of the {needed} CUDA devices asked for" if n_devices else "no CUDA device"
        return f"a GPU was asked for, but torch sees {seen} in this task"
    for number in range(needed):
        try:
            # A listed device may have too old a driver, or an architecture that this torch does not support.
            torch.ones(1, device=f"cuda:{number}").sum().item()
        except RuntimeError as error:
            return f"a GPU was asked for, but torch cannot use it: {str(error).splitlines()[0].rstrip('.')}"
    return None


def remedy(executor: str, container: str) -> str:
    """Return advice for the executor and the container engine."""
    needed = ["See that the task runs with -profile gpu, on a node with a GPU and NVIDIA's driver"]
    if container in ("docker", "podman"):
        needed.append("with NVIDIA's container toolkit")
    if executor == "slurm":
        needed.append("in a partition with GPUs (process.queue), with --gres in process.clusterOptions")
    return ", ".join(needed)


if __name__ == "__main__":
    main()
