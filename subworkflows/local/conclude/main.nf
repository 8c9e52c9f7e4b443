// What the terminal says at the end of a failed run: what to do, where the cause is known.

// One sentence on a failure, by its report, or null.
def advice(report) {
    def partition = report =~ /invalid partition specified: (\S+)/
    if (partition) {
        return "Slurm has no partition '${partition[0][1]}': give one that `sinfo` lists with -process.queue"
    }
    def program = report =~ /\b(docker|podman|apptainer|singularity|conda): command not found/
    if (program) {
        return "there is no ${program[0][1]} where the task ran: install it there, or choose another profile than ${program[0][1]}"
    }
    def image = report =~ /(?:Unable to find image '|reading manifest \S+ in \S*\/|short-name "|Failed to pull singularity image\s+command: \S+ pull .* docker:\/\/)([\w.:\/-]+)/
    if (image) {
        return "there is no image ${image[0][1]}: build it with `make images`, or name another with --image or --image_r (docs/running.md, Containers)"
    }
    def causes = [
        'Cannot connect to the Docker daemon': 'the daemon of docker does not run where the task ran: start it (`sudo systemctl start docker`), or choose another profile, such as podman or apptainer',
        'permission denied while trying to connect to the Docker daemon': 'you may not use the daemon of docker: ask to be put into the group docker, or choose another profile, such as podman or apptainer',
        'Missing AWS Batch job queue': 'AWS Batch needs the name of a job queue: give yours with -process.queue (docs/running.md, AWS Batch)',
        'aws: command not found': 'the image has no AWS command line, which AWS Batch needs there: add it, or set aws.batch.cliPath (docs/running.md, AWS Batch)',
        'Requested node configuration is not available': 'no node of the Slurm partition has the cores, memory or GPUs that the task asks for: give another partition with -process.queue, or less of them with process.resourceLimits',
        'Invalid generic resource (gres) specification': 'this Slurm has no GPUs (gres): leave out -profile gpu',
        'Invalid account or account/partition combination': 'Slurm does not accept the account: give yours with `export SBATCH_ACCOUNT=...`',
        'Cannot run program "sbatch"': 'there is no sbatch on this machine: start the run where jobs can be submitted, or leave out -profile slurm',
    ]
    return causes.find { words, _advice -> report?.contains(words) }?.value
}
