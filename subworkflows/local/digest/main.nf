// Digests of what tasks depend on and Nextflow does not see: it hashes a script without what it imports, and a folder by
// its path, size and time, which stay when a file in it is replaced.

// map: script of bin/ → digest of the packages of bin/airrvec that it imports, of those that these import, and so on
def libraryDigests(projectDir) {
    def bin = file("${projectDir}/bin", glob: false)
    def library = bin.resolve('airrvec')
    def folders = library.listFiles().findAll { path -> path.resolve('__init__.py').exists() }
    def code = folders.collectEntries { folder -> [folder.name, textsBelow(folder, ['py']).join('\n')] }
    def imported = code.collectEntries { name, text -> [name, importedPackages(text)] }
    // Of each package once, because many scripts import it.
    def digests = folders.collectEntries { folder ->
        [folder.name, ([code[folder.name]] + textsBelow(folder, ['tsv', 'json', 'css', 'js'])).join('\n').md5()]
    }
    def common = "${library.resolve('__init__.py').text}\n${file("${projectDir}/uv.lock", glob: false).text}".toString().md5()
    return bin.listFiles().findAll { script -> script.extension == 'py' }.collectEntries { script ->
        def packages = closure(importedPackages(script.text) + ['core'], imported)
        [script.baseName, ([common] + packages.sort().collect { name -> digests[name] ?: '' }).join('\n').md5()]
    }
}

// map: script → value: its digest, once the checks are done
def digestsAfter(checked, digests) {
    return digests.collectEntries { script, digest -> [script, checked.map { _checked -> digest }] }
}

// Names of the packages that a Python source imports.
def importedPackages(source) {
    def direct = source.findAll(/(?m)^\s*(?:from|import) airrvec\.(\w+)/) { _line, name -> name }
    def listed = source.findAll(/(?m)^\s*from airrvec import (\([^)]*\)|[^\n]+)/) { _line, names -> names.findAll(/\w+/) }
    return (direct + listed.flatten()).toSet()
}

// Packages, and all that they import, directly or not.
def closure(packages, imported) {
    def more = packages.collectMany { name -> imported[name] ?: [] }.toSet() - packages
    return more ? closure(packages + more, imported) : packages
}

// Contents of a folder's files, sorted by their paths.
def textsBelow(folder, extensions) {
    return filesBelow(folder).findAll { path -> path.extension in extensions }.sort { path -> path.toString() }.collect { path -> path.text }
}

// Not by a pattern: the folder's own name may hold signs of one.
def filesBelow(folder) {
    return folder.listFiles().collectMany { path -> path.isDirectory() ? filesBelow(path) : [path] }
}

// SHA-256 of names and contents of all files in a folder, or of one file; '' if there is none.
def contentDigest(path) {
    return digestOfFiles(path) { found, digest -> addContent(found, digest) }
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

// map: script of bin/ → SHA-256 of its text and of the digest of what it imports
def codeDigests(library) {
    def scripts = file("${projectDir}/bin", glob: false).listFiles().findAll { path -> path.extension in ['py', 'R'] }
    return scripts.collectEntries { path -> [path.baseName, "${library[path.baseName] ?: ''}\n${path.text}".toString().sha256()] }
}

def fileDigest(path) {
    def digest = java.security.MessageDigest.getInstance('SHA-256')
    addContent(path, digest)
    return digest.digest().encodeHex().toString()
}

// CRC-32, as tasks record it beside the SHA-256: a JVM without its second compiler, as Nextflow's is, reads a hundred
// times as fast with it.
def fileCrc(path) {
    def crc = new java.util.zip.CRC32()
    addContent(path, crc)
    return String.format('%08x', crc.value)
}

// Adds what a file holds to a digest or a CRC.
def addContent(path, sum) {
    path.withInputStream { stream -> stream.eachByte(1048576) { bytes, n -> sum.update(bytes, 0, n) } }
}
