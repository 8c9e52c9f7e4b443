// What tasks depend on and Nextflow does not see: it hashes a script without what it imports, and a folder by its path,
// size and time, which stay when a file in it is replaced.

// One value that changes with any file that tasks import.
def libraryDigest(projectDir) {
    def sources = filesBelow(file("${projectDir}/bin/airrvec", glob: false)).findAll { source -> source.extension in ['py', 'tsv'] }
    return (sources.sort { source -> source.toString() } + [file("${projectDir}/uv.lock", glob: false)]).collect { source -> source.text }.join('\n').md5()
}

// Not by a pattern: the folder's own name may hold signs of one.
def filesBelow(folder) {
    return folder.listFiles().collectMany { path -> path.isDirectory() ? filesBelow(path) : [path] }
}

// SHA-256 of names and contents of all files in a folder, or of one file; '' if there is none.
def contentDigest(path) {
    return digestOfFiles(path) { found, digest ->
        found.withInputStream { stream -> stream.eachByte(1048576) { bytes, n -> digest.update(bytes, 0, n) } }
    }
}

// The same of names, sizes and times, for what is too large to be read before a run.
def listingDigest(path) {
    return digestOfFiles(path) { found, digest -> digest.update("${found.size()} ${found.lastModified()}".getBytes('UTF-8')) }
}

// Links count as what they lead to, so that the weights of a cache of the hub are seen; hidden files do not count.
def digestOfFiles(path, update) {
    if (!path) {
        return ''
    }
    def digest = java.security.MessageDigest.getInstance('SHA-256')
    java.nio.file.Files.walk(path, java.nio.file.FileVisitOption.FOLLOW_LINKS).toList()
        .findAll { found -> found.exists() && !found.isDirectory() }
        .collectEntries { found -> [path.relativize(found).toString(), found] }
        .findAll { name, _found -> !name.tokenize('/').any { part -> part.startsWith('.') } }
        .sort()
        .each { name, found ->
            digest.update("${name}\n".getBytes('UTF-8'))
            update.call(found, digest)
        }
    return digest.digest().encodeHex().toString()
}
