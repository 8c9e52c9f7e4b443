// Which files of --outdir a run has published, and which it reads.

// Folders of --outdir that hold results. `checkpoints` is of all runs, `pipeline_info` Nextflow's.
def resultFolders() {
    return [
        'airr', 'analyses', 'anndata', 'annotation', 'benchmark', 'cells', 'chains', 'clusters', 'comparison', 'embeddings',
        'map', 'models', 'multiqc', 'r', 'receptors', 'rejects', 'samples',
    ]
}

// Files and folders of --outdir's disk that a run reads: its samples' tables, and every parameter that is a path.
def inputPaths(given, tables) {
    def root = file(given.outdir, glob: false)
    def words = given.findAll { name, _value -> !['outdir', 'checkpoint_dir', 'calibrations', 'references'].contains(name) }
        .collectMany { _name, value -> value.toString().tokenize(',').collect { word -> word.trim() } }
        .findAll { word -> word.contains('/') && (!word.contains('://') || word.startsWith(given.outdir.toString())) }
    def paths = words.collect { word -> file(word, glob: false) } + tables.collectMany { entry -> [entry.table, entry.map] }
    return paths.findAll { path -> path && path.fileSystem == root.fileSystem && path.exists() }
        .collectMany { path -> [located(path), located(path.parent).resolve(path.name)] } // a link, and where it leads to
}

// Whether this run has published a file. A hard link has the time of its content, and a symbolic link that leads to
// the right place already is left as it is: hence the time of the last change, and the folders of this run's tasks.
def isPublished(path, marker, folders) {
    def since = changed(path) >= changed(marker)
    return since || (java.nio.file.Files.isSymbolicLink(path) && path.exists() && folders.any { folder -> located(path).startsWith(folder) })
}

def changed(path) {
    return path.fileSystem.supportedFileAttributeViews().contains('unix')
        ? java.nio.file.Files.getAttribute(path, 'unix:ctime', java.nio.file.LinkOption.NOFOLLOW_LINKS)
        : java.nio.file.Files.getLastModifiedTime(path)
}

// Buckets have no links.
def located(path) {
    return path.fileSystem == java.nio.file.FileSystems.default ? path.toRealPath() : path
}

def isFolder(path) {
    return java.nio.file.Files.isDirectory(path, java.nio.file.LinkOption.NOFOLLOW_LINKS)
}

def allBelow(folder) {
    return folder.exists() ? java.nio.file.Files.walk(located(folder)).toList() : []
}

def filesBelow(folder) {
    return allBelow(folder).findAll { path -> !isFolder(path) }
}
