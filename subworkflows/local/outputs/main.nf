// What a run may publish below --outdir, as in conf/modules.config: names of files; a name that ends in '/' is a folder
// with all that is below.

def announcedNames(settings, plan, tables) {
    def info = inFolder('pipeline_info', settings.dry_run ? ['samples.tsv', 'plan.tsv'] : ownInfo())
    if (settings.dry_run) {
        return info
    }
    def labelled = tables.findAll { entry -> entry.part == 'labelled' }
    def samples = tables.findAll { entry -> entry.part != 'reference' && entry.sample }.collect { entry -> entry.sample }
    def ids = (samples + (labelled ? ['labelled'] : [])).unique()
    def every = [
        ['summary.txt', 'ro-crate-metadata.json'],
        ['cells', 'chains', 'rejects', 'gamma_delta/cells', 'gamma_delta/chains'].collectMany { folder -> inFolder(folder, ids.collect { id -> "${id}.parquet" }) },
        ofPartitions('receptors', 'receptors', settings.partitions),
        ofPartitions(settings.partitions > 1 ? "embeddings/${modelName(plan)}" : 'embeddings', modelName(plan), settings.partitions),
        tablesIn('clones', ['clones']) + inFolder('clones', ['counts.parquet', 'members.parquet', 'clones_by_sample.tsv']),
        tablesIn('samples', ['largest_clones', 'clone_sizes', 'gene_usage', 'cdr3_lengths', 'vj_pairing', 'diversity', 'rarefaction']),
        tablesIn('gamma_delta', ['clones', 'clone_sizes', 'gene_usage', 'cdr3_lengths', 'vj_pairing', 'diversity', 'rarefaction', 'clusters']),
        inFolder('gamma_delta', ['receptors.parquet', 'counts.parquet', 'members.parquet']),
        inFolder('multiqc', ['multiqc_report.html', 'multiqc_report_data/']),
    ]
    return (info + every.flatten() + ofOptions(settings, plan, ids)).unique()
}

// Of a run of any options, besides Nextflow's own reports.
def ownInfo() {
    return ['samples.tsv', 'software_versions.yml', 'plan.tsv', 'main.nf', 'started.txt', 'manifest.tsv', 'manifest.tsv.sha256', 'missing_after_report.txt']
}

def ofOptions(settings, plan, ids) {
    def both = ids + ['all_samples']
    def parts = [
        [settings.export_airr, { -> inFolder('airr', ids.collect { id -> "${id}.tsv" }) }],
        [settings.export_anndata, { -> inFolder('anndata', both.collect { id -> "${id}.h5ad" }) }],
        [settings.export_sce, { -> inFolder('r', both.collect { id -> "${id}.rds" } + ['match_barcodes.R']) }],
        [plan.pretrain || plan.finetune, { -> ofTraining(settings, plan) }],
        [settings.labelled, { -> ofBenchmark() }],
        [plan.analyses, { -> ofAnalyses(plan.analyses.collect { name, _scope -> name }) }],
        [settings.annotate, { -> ofAnnotation(settings, ids) }],
        [settings.cluster, { -> tablesIn('clusters', ['clusters', 'members', 'motifs', 'references', 'hla']) + inFolder('clusters', ['logos.svg', 'logos.png']) }],
        [settings.compare, { -> tablesIn('comparison', ['pairs', 'public', 'samples_pca']) + ['comparison/sample_vectors.parquet'] }],
        [settings.compare_by, { -> tablesIn('comparison', ['tests', 'measures', 'told', 'steps', 'changes']) + tablesIn('gamma_delta', ['tests']) }],
        [!settings.skip_map, { -> inFolder('map', ['map.parquet', 'map.html']) }],
        [settings.handover, { -> inFolder('handover', ['README.txt', 'summary.pdf', 'report.html', 'map.html', 'clones.xlsx', 'calls.xlsx', 'figures/']) }],
    ]
    return parts.findAll { asked, _names -> asked }.collectMany { _asked, names -> names.call() }
}

def ofTraining(settings, plan) {
    def trained = [plan.pretrain, plan.finetune].findAll { preset -> preset }.collect { preset -> "${preset.baseName}/" }
    def folders = [settings.checkpoint_dir, "${settings.outdir}/checkpoints"].findAll { path -> path }
    def here = folders.collect { path -> file(path, glob: false).normalize() }.unique().size() == 1
    def tuned = tablesIn('models/finetune', ['split', 'specificity', 'unseen']) + ['models/finetune/finetune.qc.json']
    return inFolder('models', trained) + (here ? inFolder('checkpoints', trained) : []) + (plan.finetune ? tuned : [])
}

def ofBenchmark() {
    def figures = ['auroc_against_k', 'roc_curves'].collectMany { name -> ["${name}.svg", "${name}.png"] }
    return tablesIn('benchmark', ['auroc', 'auroc_summary', 'comparisons', 'roc', 'not_evaluated']) + inFolder('benchmark', figures + ['benchmark.md', 'benchmark.json', 'splits.parquet', 'benchmark_receptors.parquet', 'scores.parquet'])
}

def ofAnalyses(names) {
    def files = names.collectMany { name -> ['.parquet', '.tsv', '.svg', '.png', '_not_done.tsv'].collect { ending -> name + ending } }
    return inFolder('analyses', files + ['generation_probability.parquet'])
}

def ofAnnotation(settings, ids) {
    def tables = ['calibration', 'precision_recall', 'epitopes', 'receptors', 'suspect_labels', 'same_studies', 'merged', 'conflicts', 'sources']
    def rejects = settings.reference ? ['rejects.parquet', 'rejects/'] : []
    return tablesIn('annotation', ids) + tablesIn('annotation/reference', tables) + inFolder('annotation/reference', rejects + ['calibration.qc.json'])
}

def modelName(plan) {
    return plan.finetune?.baseName ?: plan.pretrain?.baseName ?: plan.start[0]
}

def ofPartitions(folder, name, partitions) {
    def parts = partitions > 1 ? (0..<partitions).collect { number -> "_${number.toString().padLeft(4, '0')}" } : ['']
    return inFolder(folder, parts.collect { part -> "${name}${part}.parquet" })
}

def tablesIn(folder, names) {
    return inFolder(folder, names.collectMany { name -> ["${name}.parquet", "${name}.tsv"] })
}

def inFolder(folder, names) {
    return names.collect { name -> "${folder}/${name}".toString() }
}
