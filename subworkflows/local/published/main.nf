// Which files of --outdir a run has published, and which it reads.

// Files and folders of --outdir's disk that a run reads: its samples' tables, every parameter that is a path, and
// files of configuration.
def inputPaths(given, tables) {
    def root = file(given.outdir, glob: false)
    def words = pathParameters().findAll { name -> given[name] }.collectMany { name ->
        def text = given[name].toString()
        text.contains('://') ? text.tokenize(',') : [text] + text.tokenize(',')
    }
    def named = words.collect { word -> file(word.trim(), glob: false) } + tables.collectMany { entry -> [entry.table, entry.map] }
    def paths = named + workflow.configFiles + parametersFile()
    return paths.findAll { path -> path && path.fileSystem == root.fileSystem && path.exists() }
        .collectMany { path -> [located(path), located(path.parent).resolve(path.name)] } // a link, and where it leads to
        .unique()
}

def pathParameters() {
    return [
        'input', 'labelled', 'column_map', 'multiqc_config', 'model', 'pretrain', 'finetune_preset', 'encoders', 'hub_cache',
        'reference', 'background', 'pretrain_loss', 'finetune_loss', 'train_callbacks',
    ]
}

// Nextflow names it in the command alone.
def parametersFile() {
    def words = workflow.commandLine.tokenize(' ')
    def place = words.indexOf('-params-file')
    return place >= 0 && words.size() > place + 1 ? [file(words[place + 1], glob: false)] : []
}

// What stands where a run would write this name: [ name, path ] of a file, a link, or what is below a folder.
def standingAt(root, name) {
    def path = root.resolve(name)
    if (name.endsWith('/') && path.isDirectory()) {
        return filesBelow(path).collect { found -> ["${name}${located(path).relativize(found)}".toString(), found] }
    }
    return stands(path) ? [[name, path]] : []
}

// The first link on the way to a file, which is what a run publishes and moves, or the file itself.
def linkOrFile(root, name) {
    def words = name.tokenize('/')
    def paths = (1..words.size()).collect { n -> root.resolve(words.take(n).join('/')) }
    return paths.find { path -> java.nio.file.Files.isSymbolicLink(path) } ?: paths.last()
}

// Also a link that leads nowhere.
def stands(path) {
    return path.exists() || java.nio.file.Files.isSymbolicLink(path)
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

// All folders above a name: a, a/b of a/b/c and of a/b/c/.
def parentsOf(name) {
    def words = name.tokenize('/')
    return (1..<words.size()).collect { n -> words.take(n).join('/') }
}

// What is airrvec's, but in no manifest.
def withoutRecord(earlier) {
    return earlier.findAll { _name, record -> !record }.keySet().toList()
}

// Kept until there is a manifest: a run that is killed can be resumed, and its files are known as airrvec's.
def announce(root, names) {
    def list = announcement(root)
    list.parent.mkdirs()
    list.text = names.sort().collect { name -> "${escaped(name)}\n" }.join('')
}

def announcement(root) {
    return root.resolve('pipeline_info/.announced.txt')
}

// A cell of a table: signs that would end it are written as in Python.
def escaped(value) {
    return value == null ? '' : value.toString().replace('\\', '\\\\').replace('\t', '\\t').replace('\n', '\\n').replace('\r', '\\r')
}

def unescaped(text) {
    def signs = [t: '\t', n: '\n', r: '\r']
    return text.replaceAll(/\\(.)/) { _all, sign -> signs[sign] ?: sign }
}
