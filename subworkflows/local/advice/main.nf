// What a run says of failures, and what to do after a known one.

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
    def image = report =~ /(?:Unable to find image '|Trying to pull |reading manifest \S+ in \S*\/|short-name "|Failed to pull singularity image\s+command: \S+ pull .* docker:\/\/)([\w.:\/-]*\w)/
    if (image) {
        return "there is no image ${image[0][1]}: build it with `make images`, or give a registry that has it with --registry (docs/guides/running.md, Containers)"
    }
    def causes = [
        'Cannot connect to the Docker daemon': 'the daemon of docker does not run where the task ran: start it (`sudo systemctl start docker`), or choose another profile, such as podman or apptainer',
        'permission denied while trying to connect to the Docker daemon': 'you may not use the daemon of docker: ask to be put into the group docker, or choose another profile, such as podman or apptainer',
        'Missing AWS Batch job queue': 'AWS Batch needs the name of a job queue: give yours with -process.queue (docs/guides/cloud.md, AWS Batch)',
        'aws: command not found': 'the image has no AWS command line, which AWS Batch needs there: add it, or set aws.batch.cliPath (docs/guides/cloud.md, AWS Batch)',
        'Requested node configuration is not available': 'no node of the Slurm partition has the cores, memory or GPUs that the task asks for: give another partition with -process.queue, or less of them with process.resourceLimits',
        'Invalid generic resource (gres) specification': 'this Slurm has no GPUs (gres): leave out -profile gpu',
        'Invalid account or account/partition combination': 'Slurm does not accept the account: give yours with `export SBATCH_ACCOUNT=...`',
        'Cannot run program "sbatch"': 'there is no sbatch on this machine: start the run where jobs can be submitted, or leave out -profile slurm',
    ]
    return causes.find { words, _advice -> report?.contains(words) }?.value ?: adviceOnResources(report)
}

// The first cause in the report counts: a full disk and a limit of the address space also end in a killed task.
def adviceOnResources(report) {
    def name = report =~ /Error executing process > '(?:\w+:)*(\w+)/
    def process = name ? name[0][1] : null
    def own = process ? "`process { withName: '${process}' { %s } }` in a file given with -c" : '`process { %s }` in a file given with -c'
    def again = 'Then start again with -resume'
    def full = ['No space left on device', 'No space left', 'Disk quota exceeded', 'database or disk is full', 'errno = 28', 'os error 28']
    if (full.any { words -> report?.contains(words) }) {
        return "a disk is full, or your quota of it: free space where the tasks work (-work-dir), where the results go (--outdir) and where temporary files go (TMPDIR), or name other folders. ${again}"
    }
    if (report =~ /failed to map segment|[Cc]annot allocate memory|OpenBLAS.*(?:[Mm]emory [Aa]llocation|pthread_create)|pthread_create failed|can't start new thread|memory allocation of \d+ bytes failed|\(bad allocation\)|\(ulimit -v\)|Thread creation failed|could not spawn threads|Failed to initialize NumPy allocator/) {
        return "the machine limits the address space or the threads of a process, and libraries reserve more than they use: start Nextflow after `ulimit -v unlimited` and `ulimit -u unlimited`, or ask your administrator to raise these limits; where the limit is the memory of the task, raise it with ${own.replace('%s', "memory = '16 GB'")}. ${again}"
    }
    def exit = report =~ /error exit status \((\d+)\)/
    def status = exit ? exit[0][1].toInteger() : null
    if (status in [137, 247] || report =~ /OUT_OF_MEMORY|oom[-_]kill|OutOfMemoryError|std::bad_alloc|MemoryError|Out of Memory Error/) {
        return "the task most likely needed more memory than it may use: raise it with ${own.replace('%s', "memory = '16 GB'")}, and process.resourceLimits if it is set. ${again}"
    }
    if (status in [140, 143] || report =~ /DUE TO (?:TIME LIMIT|PREEMPTION)|CANCELLED AT/) {
        return "the task was ended from outside (SIGTERM): its machine was reclaimed, its job cancelled, or its time was over. If machines are reclaimed often, raise process.maxRetries and aws.batch.maxSpotAttempts or google.batch.maxSpotAttempts, or use machines that are not; if time was over, raise it with ${own.replace('%s', "time = '24 h'")}. ${again}"
    }
    return null
}

// How a run goes on where some of its samples failed.
def withoutFailed(more = '') {
    return "\nTo go on with the other samples, start again with --failed_samples skip${more}"
}

// One message of all failures.
def failure(reasons, what) {
    return reasons.size() == 1 ? reasons[0] : "${reasons.size()} ${what}:\n${reasons.collect { reason -> "- ${reason}" }.join('\n')}"
}
