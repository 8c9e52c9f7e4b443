// Whose files stand in --outdir: those of airrvec are the rows of the manifest of the run before, and what runs have
// announced since. All others stay as they are: where this run would write over one, it is refused before its first task.

include { announcedNames ; ownInfo                        } from '../outputs/main'
include { filesBelow ; inputPaths ; isFolder ; standingAt } from '../published/main'
include { announce ; announcement ; unescaped             } from '../published/main'
include { parentsOf ; withoutRecord                       } from '../published/main'
include { isLocal ; takeLock                              } from '../lock/main'

// Refuses a run that would change what is not its own; else announces what it may publish.
def claimResults(run, plan) {
    def root = file(run.settings.outdir, glob: false)
    lookAround(run, plan)
    if (!run.settings.dry_run) {
        takeLock(run.settings)
        lookAround(run, plan) // now that no other run changes it
    }
    announce(root, (run.announced + withoutRecord(run.earlier)).unique())
}

// Changes nothing; into the map of the run: announced, names; earlier, name → sha256 and size (nothing for a file of a
// run without a manifest) of what is airrvec's.
def lookAround(run, plan) {
    def outdir = run.settings.outdir
    def root = file(outdir, glob: false)
    run.announced = announcedNames(run.settings, plan, run.tables)
    refuseLinks(root, run.announced, outdir)
    run.earlier = earlierFiles(root)
    def standing = run.announced.collectMany { name -> standingAt(root, name) }
    refuseInputs(standing, inputPaths(run.settings, run.tables), outdir)
    refuseForeign(standing.collect { name, _path -> name }, run.earlier.keySet(), outdir)
}

// A folder of results that is a link, or no folder.
def refuseLinks(root, names, outdir) {
    def folders = (names.collectMany { name -> parentsOf(name) } + ['pipeline_info', 'previous']).unique()
    folders.findAll { _name -> isLocal(root) }.each { name ->
        def path = root.resolve(name)
        if (java.nio.file.Files.isSymbolicLink(path)) {
            error("'${name}' in --outdir '${outdir}' is a link to '${java.nio.file.Files.readSymbolicLink(path)}', and results are written into no folder but --outdir; remove the link, or give another --outdir")
        }
        if (path.exists() && !isFolder(path)) {
            error("'${name}' in --outdir '${outdir}' is a file, where this run makes a folder; move it away, or give another --outdir")
        }
    }
}

// By identity, so that links and hard links are found.
def refuseInputs(standing, inputs, outdir) {
    def read = inputs.collectMany { path -> path.isDirectory() ? filesBelow(path) : [path] }.collectEntries { path -> [identity(path), path] }
    standing.each { name, path ->
        def input = read[identity(path)]
        if (input) {
            error("'${input.toUriString() - 'file://'}' is an input of this run, which would write '${name}' in --outdir '${outdir}' over it; give another --outdir, or move the input")
        }
    }
}

def identity(path) {
    return isLocal(path) && path.exists() ? java.nio.file.Files.readAttributes(path, java.nio.file.attribute.BasicFileAttributes).fileKey() ?: path.toRealPath() : path
}

def refuseForeign(standing, own, outdir) {
    def folders = own.findAll { name -> name.endsWith('/') }
    def foreign = standing.findAll { name -> !own.contains(name) && !folders.any { folder -> name.startsWith(folder) } }
    if (foreign) {
        def more = foreign.size() > 1 ? " and ${foreign.size() - 1} more" : ''
        error("'${foreign.sort()[0]}'${more} in --outdir '${outdir}' was not made by an earlier run of airrvec, and this run would replace it; move it away, or give another --outdir")
    }
}

// map: name → sha256 and size, or nothing if these are not known
def earlierFiles(root) {
    def manifest = root.resolve('pipeline_info/manifest.tsv')
    def lines = manifest.exists() ? manifest.readLines('UTF-8') : []
    def rows = lines && lines[0].startsWith('path\tkind\tsha256\tsize') ? lines.drop(1).collect { line -> line.split('\t', -1) } : []
    def listed = rows.findAll { row -> row.size() > 3 && row[1] == 'result' && isInside(unescaped(row[0])) }
    def own = rows ? ownInfo().collect { name -> "pipeline_info/${name}".toString() } + ['ro-crate-metadata.json'] : []
    def list = announcement(root)
    def names = own + (list.exists() ? list.readLines('UTF-8').collect { line -> unescaped(line) }.findAll { name -> isInside(name) } : [])
    // A run without a manifest may have written anew what the manifest lists.
    return listed.collectEntries { row -> [unescaped(row[0]), [sha256: row[2], size: row[3]]] } + names.collectEntries { name -> [name, [:]] }
}

// A manifest may come with a folder from somebody else.
def isInside(name) {
    return name && !name.startsWith('/') && !name.tokenize('/').contains('..')
}
