// The report, from what all parts of the run have made, and parts that could not be made; and what is handed over.
// REPORT writes the sections, of which RENDER_REPORT makes the page while HANDOVER draws.

include { HANDOVER      } from '../../../modules/local/handover/main'
include { RENDER_REPORT } from '../../../modules/local/render_report/main'
include { REPORT        } from '../../../modules/local/report/main'
include { byName        } from '../files/main'
include { lostParts ; readMissing } from '../missing/main'

workflow SUMMARISE {
    take:
    results  // map: kind → channel of files
    optional // list of the outputs of optional branches: asked, ended, missing, versions
    late     // list of the same, of branches for which the report does not wait
    missing  // channel: *.missing.json of the other parts
    versions // channel: versions.yml of the other parts
    settings // map: parameters
    library  // map: script → value: digest of what it imports

    main:
    asked = optional.inject(channel.empty()) { all, part -> all.mix(part.asked) }
    ended = optional.inject(channel.empty()) { all, part -> all.mix(part.ended) }
    absent = optional.inject(missing) { all, part -> all.mix(part.missing) }
    lost = lostParts(asked, ended).toSortedList { a, b -> "${a.part} ${a.name}" <=> "${b.part} ${b.name}" }
    software = optional.inject(versions) { all, part -> all.mix(part.versions) }
    files = results.collectEntries { kind, made -> [kind, byName(made)] }
    title = settings.multiqc_title ?: ''
    REPORT(
        files.normalised,
        files.collected,
        files.embedded,
        files.described,
        files.clones,
        files.gamma_delta,
        files.benchmark,
        files.analyses,
        files.annotation,
        files.calls,
        files.clusters,
        files.comparison,
        files.trained,
        files.measured,
        results.map.filter { file -> file.extension == 'json' }.toList(),
        byName(absent),
        lost,
        software.toSortedList { a, b -> a.toString() <=> b.toString() },
        settings.handover,
        library.report,
    )
    map_page = results.map.filter { file -> file.extension == 'html' }.toList()
    RENDER_REPORT(
        REPORT.out.content,
        ["${projectDir}/assets/multiqc_config.yml", settings.multiqc_config].findAll { path -> path }.collect { path -> file(path, glob: false) },
        title,
        map_page,
        settings.handover,
        library.render_report,
    )
    // Told when the run ends: the report was made before.
    made = late.inject(software.mix(REPORT.out.versions, RENDER_REPORT.out.html)) { all, part -> all.mix(part.versions) }
    asked_late = late.inject(channel.empty()) { all, part -> all.mix(part.asked) }
    ended_late = late.inject(channel.empty()) { all, part -> all.mix(part.ended) }
    absent_late = late.inject(channel.empty()) { all, part -> all.mix(part.missing) }
    if (settings.handover) {
        HANDOVER(
            REPORT.out.content,
            map_page.map { pages -> pages ? true : false },
            files.described,
            files.clones,
            files.calls,
            files.clusters,
            files.comparison,
            files.benchmark,
            title,
            library.handover,
        )
        made = made.mix(HANDOVER.out.versions)
        asked_late = asked_late.mix(REPORT.out.content.map { _folder -> ['handover', 'all_samples'] })
        ended_late = ended_late.mix(HANDOVER.out.ended)
        absent_late = absent_late.mix(HANDOVER.out.missing)
    }
    unmade = lostParts(asked_late, ended_late).mix(absent_late.flatten().flatMap { file -> readMissing(file) })
    folders = made.map { file -> file.parent }

    emit:
    folders = folders // channel: folder of each task, in the work folder
    unmade = unmade // channel: part, name and reason of what could not be made after the report
}
