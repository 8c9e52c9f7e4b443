// Parts that a run goes on without: scripts say why they could not make theirs; a task that failed cannot.

// channel: part, name and reason of each part that was asked for and whose task did not end; both hold [ part, name ].
// Not as files: a run that a check ends would be interrupted while it writes them, and say so after the error.
def lostParts(asked, ended) {
    def reason = 'its task failed, for the reason in .nextflow.log. Run again with -resume to try it again.'
    return asked.map { part, name -> [[part, name.toString()], true] }
        .join(ended.map { part, name -> [[part, name.toString()], true] }, remainder: true)
        .filter { _key, is_asked, has_ended -> is_asked && !has_ended }
        .map { key, _is_asked, _has_ended -> [part: key[0], name: key[1], reason: reason] }
}

// list of maps: what a task wrote of the parts that it could not make
def readMissing(file) {
    return file.size() ? new groovy.json.JsonSlurperClassic().parseText(file.text) : [] // none in a stub
}
