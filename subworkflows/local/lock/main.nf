// The lock of --outdir: at any time, one run writes there.

// Refuses the run if another one writes into its folder of results; otherwise takes the lock until this process ends.
def takeLock(settings) {
    def lock = file("${settings.outdir}/pipeline_info/lock.txt", glob: false)
    lock.parent.mkdirs()
    def words = holder().collect { name, value -> "${name}\t${value}\n" }.join('')
    acquire(lock, words, settings.outdir, 3)
    // Not at the end of the workflow: Nextflow writes its reports after that, and a failed start has no end.
    if (isLocal(lock)) {
        Runtime.runtime.addShutdownHook(new Thread({ -> releaseLock(settings, words) } as Runnable))
    }
    keepTrace(settings)
}

def releaseLock(settings, words) {
    def lock = file("${settings.outdir}/pipeline_info/lock.txt", glob: false)
    try {
        if (lock.exists() && lock.text == words) {
            restoreTrace(settings)
            java.nio.file.Files.delete(lock)
        }
    }
    catch (Exception _problem) {
        return // the next run takes it over
    }
}

// The end of the JVM is too late for a request to a bucket.
def releaseBucket(outdir) {
    def lock = file("${outdir}/pipeline_info/lock.txt", glob: false)
    if (!isLocal(lock) && readLock(lock).run == workflow.runName) {
        java.nio.file.Files.delete(lock)
    }
}

def acquire(lock, words, outdir, tries) {
    if (created(lock, words)) {
        return
    }
    def held = readLock(lock) ?: readLater(lock)
    if (!isOver(held) || tries == 0) {
        def todo = "Give this run another --outdir, or wait for the end of that one. If it no longer runs, start it again with -resume, or delete ${lock.toUriString()}"
        error("another run writes into '${outdir}': ${described(held)}. ${todo}")
    }
    log.warn("the run that was writing into '${outdir}' no longer runs, and this run takes over: ${described(held)}")
    setAside(lock, held)
    acquire(lock, words, outdir, tries - 1)
    if (isLocal(lock)) {
        sleep(1000) // a third run may have found the same lock, and have moved ours away for it
        acquireAgain(lock, words, outdir, tries - 1)
    }
}

def acquireAgain(lock, words, outdir, tries) {
    if (!lock.exists() || lock.text != words) {
        acquire(lock, words, outdir, tries)
    }
}

// Whether the file is new. Creating it is atomic on disks, also those of networks; buckets have nothing like it.
def created(lock, words) {
    if (!isLocal(lock)) {
        def free = !lock.exists()
        if (free) {
            lock.text = words
        }
        return free
    }
    try {
        java.nio.file.Files.createFile(lock)
    }
    catch (java.nio.file.FileAlreadyExistsException _problem) {
        return false
    }
    lock.text = words
    return true
}

// Renaming is atomic: of two runs that find the lock of a dead one, the second moves nothing, or puts back what it moved.
def setAside(lock, held) {
    def aside = lock.resolveSibling("lock.${UUID.randomUUID()}.txt")
    try {
        java.nio.file.Files.move(lock, aside)
        if (readLock(aside) == held) {
            java.nio.file.Files.delete(aside)
        }
        else {
            java.nio.file.Files.move(aside, lock)
        }
    }
    catch (java.nio.file.NoSuchFileException | java.nio.file.FileAlreadyExistsException _problem) {
        return // another run was faster
    }
}

// map: what a run says of itself
def holder() {
    def process = ProcessHandle.current()
    return [
        run: workflow.runName,
        session: workflow.sessionId.toString(),
        user: System.getProperty('user.name'),
        host: hostName(),
        machine: machine(),
        process: process.pid().toString(),
        since: started(process),
        folder: workflow.launchDir.toString(),
    ]
}

def readLock(lock) {
    def lines = lock.exists() ? lock.text.readLines() : []
    return lines.collect { line -> line.tokenize('\t') }.findAll { pair -> pair.size() == 2 }.collectEntries { name, value -> [name, value] }
}

// The run that has just made the file may not have written into it yet.
def readLater(lock) {
    sleep(2000)
    return readLock(lock)
}

// Whether the run that holds a lock has certainly ended. A process of another user may be hidden, one of another
// machine or container is; but Nextflow lets nobody resume a session that still runs.
def isOver(held) {
    def here = held.machine == machine() && held.user == System.getProperty('user.name')
    if (!held || !here) {
        return !held || held.session == workflow.sessionId.toString()
    }
    def process = ProcessHandle.of(held.process.toLong())
    def own = held.process.toLong() == ProcessHandle.current().pid()
    return own || !process.isPresent() || started(process.get()) != held.since
}

def described(held) {
    return held ? "run '${held.run}', process ${held.process} on ${held.host}, since ${held.since}, started in ${held.folder}" : 'a run that has not said its name'
}

// Processes have numbers of their own in every container and after every start of a machine.
def machine() {
    def boot = file('/proc/sys/kernel/random/boot_id', glob: false)
    def names = file('/proc/self/ns/pid', glob: false)
    return boot.exists() ? "${boot.text.trim()} ${java.nio.file.Files.readSymbolicLink(names)}".toString() : hostName()
}

def hostName() {
    try {
        return InetAddress.localHost.hostName
    }
    catch (UnknownHostException _problem) {
        return 'this machine'
    }
}

// In seconds: the same for the whole life of a process.
def started(process) {
    return process.info().startInstant().map { time -> time.truncatedTo(java.time.temporal.ChronoUnit.SECONDS).toString() }.orElse('unknown')
}

def isLocal(path) {
    return path.fileSystem == java.nio.file.FileSystems.default
}

// Nextflow empties the trace of an earlier run before the pipeline can refuse a run. While a run writes into the folder,
// its trace therefore has another name; Nextflow goes on writing into the same file.
def keepTrace(settings) {
    def (trace, running) = traceNames(settings)
    if (isLocal(trace) && trace.exists()) {
        java.nio.file.Files.move(trace, running, java.nio.file.StandardCopyOption.REPLACE_EXISTING)
    }
}

def restoreTrace(settings) {
    def (trace, running) = traceNames(settings)
    if (isLocal(running) && running.exists()) {
        java.nio.file.Files.move(running, trace, java.nio.file.StandardCopyOption.REPLACE_EXISTING)
    }
}

def traceNames(settings) {
    def name = "execution_trace${settings.trace_report_suffix ? "_${settings.trace_report_suffix}" : ''}.txt"
    def folder = file("${settings.outdir}/pipeline_info", glob: false)
    return [folder.resolve(name), folder.resolve("running_${name}")]
}
