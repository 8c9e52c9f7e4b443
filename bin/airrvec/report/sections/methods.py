"""Methods of a run in a paragraph with citations, and the versions of all software."""

import re
from typing import NamedTuple

from airrvec.core.terminal import counted
from airrvec.core.version import __version__
from airrvec.encoders import Titles
from airrvec.report.page import escaped, section
from airrvec.report.sections.hla import association_method


class Work(NamedTuple):
    """Work to cite, as in CITATIONS.md."""

    short: str
    full: str
    doi: str = ""


WORKS = {
    "sceptr": Work(
        "Nagano et al. 2025",
        "Nagano Y, et al. Contrastive learning of T cell receptor representations. Cell Systems 2025; 16(1).",
        "10.1016/j.cels.2024.12.006",
    ),
    "tcrdist": Work(
        "Dash et al. 2017",
        "Dash P, et al. Quantifiable predictive features define epitope-specific T cell receptor repertoires."
        " Nature 2017; 547: 89–93.",
        "10.1038/nature22383",
    ),
    "imgt": Work(
        "Lefranc et al. 2015",
        "Lefranc MP, et al. IMGT, the international ImMunoGeneTics information system 25 years on. Nucleic"
        " Acids Research 2015; 43: D413–D422.",
        "10.1093/nar/gku1056",
    ),
    "tidytcells": Work(
        "Nagano and Chain 2023",
        "Nagano Y, Chain B. tidytcells: standardizer for TR/MH nomenclature. Frontiers in Immunology 2023;"
        " 14: 1276106.",
        "10.3389/fimmu.2023.1276106",
    ),
    "scirpy": Work(
        "Sturm et al. 2020",
        "Sturm G, et al. Scirpy: a Scanpy extension for analyzing single-cell T-cell receptor-sequencing"
        " data. Bioinformatics 2020; 36(18): 4817–4818.",
        "10.1093/bioinformatics/btaa611",
    ),
    "olga": Work(
        "Sethna et al. 2019",
        "Sethna Z, et al. OLGA: fast computation of generation probabilities of B- and T-cell receptor amino"
        " acid sequences and motifs. Bioinformatics 2019; 35(17): 2974–2981.",
        "10.1093/bioinformatics/btz035",
    ),
    "leiden": Work(
        "Traag et al. 2019",
        "Traag VA, Waltman L, van Eck NJ. From Louvain to Leiden: guaranteeing well-connected communities."
        " Scientific Reports 2019; 9: 5233.",
        "10.1038/s41598-019-41695-z",
    ),
    "hill": Work(
        "Chao et al. 2014",
        "Chao A, et al. Rarefaction and extrapolation with Hill numbers: a framework for sampling and"
        " estimation in species diversity studies. Ecological Monographs 2014; 84(1): 45–67.",
        "10.1890/13-0133.1",
    ),
    "mmd": Work(
        "Gretton et al. 2012",
        "Gretton A, et al. A kernel two-sample test. Journal of Machine Learning Research 2012; 13: 723–773.",
    ),
    "nextflow": Work(
        "Di Tommaso et al. 2017",
        "Di Tommaso P, et al. Nextflow enables reproducible computational workflows. Nature Biotechnology"
        " 2017; 35: 316–319.",
        "10.1038/nbt.3820",
    ),
    "multiqc": Work(
        "Ewels et al. 2016",
        "Ewels P, et al. MultiQC: summarize analysis results for multiple tools and samples in a single"
        " report. Bioinformatics 2016; 32(19): 3047–3048.",
        "10.1093/bioinformatics/btw354",
    ),
}


def methods_sections(
    samples: list[dict], embeddings: dict, results: dict, titles: Titles, versions: str, nextflow: str
) -> list[dict]:
    """
    Return the paragraph on methods, the works that it cites, and the versions of all software.

    Parameters
    ----------
    samples : list of dict
        QC of ``normalise_receptors.py``.
    embeddings : dict
        QC of ``embed_receptors.py``.
    results : dict
        Part of the report → its results, or None.
    versions : str
        YAML from `airrvec.report.page.merged_versions`.
    nextflow : str
        Version of Nextflow.
    """
    text, cited = _cited(" ".join(sentences(samples, embeddings, results, titles, nextflow)))
    works = "".join(f"<li>{_reference(WORKS[name])}</li>" for name in cited)
    return [
        section(
            "airrvec_methods_text",
            "Methods paragraph",
            "Ready to be adapted for a manuscript.",
            "html",
            f'<p class="airrvec-methods">{text}</p>',
        ),
        section("airrvec_methods_references", "Works to cite", "", "html", f"<ol>{works}</ol>"),
        section("airrvec_methods_versions", "Software versions", "", "html", versions_table(versions)),
    ]


def sentences(
    samples: list[dict], embeddings: dict, results: dict, titles: Titles, nextflow: str
) -> list[str]:
    """Return the methods of a run, one to two sentences for each of its parts; ``[name]`` cites a work."""
    formats = ", ".join(sorted({escaped(sample["format"]) for sample in samples}))
    words = [
        f"T-cell receptors were analysed with airrvec {__version__} under Nextflow {escaped(nextflow)}"
        f" [nextflow]. {counted(len(samples), 'table')} ({formats}) {'was' if len(samples) == 1 else 'were'}"
        " read; V and J genes were named by IMGT [imgt] with tidytcells [tidytcells], and cells were"
        " classified by their chains as in scirpy [scirpy].",
    ]
    words += _embedded(embeddings, titles) if embeddings else []
    words += _apart(results["gamma_delta"].counts) if results.get("gamma_delta") else []
    if annotation := results.get("annotation"):
        fdr = next((sample["fdr"] for sample in annotation.samples if sample.get("fdr")), None)
        words.append(
            "Epitopes were called by comparison with labelled receptors of known epitopes and with"
            f" {_background(annotation.reference['background'])}, by vectors, TCRdist [tcrdist], single"
            " chains and genes; boosted trees weighed this evidence, and probabilities were calibrated, in"
            " cross-validation over studies"
            + (f", and calls were made at a false discovery rate of {100 * fdr:g} %." if fdr else ".")
        )
    if clusters := results.get("clusters"):
        counts = clusters.counts
        potts = "communities of the constant Potts model, found by the Leiden algorithm [leiden],"
        kind = potts if counts["method"] == "leiden" else "connected components"
        words.append(
            "Receptors were linked if their distance is at most the radius within which a receptor has on"
            f" average {counts['chance']:g} neighbours among {_background(counts['background'])}, and"
            f" clusters are {kind} of these links."
        )
    if associations := results.get("hla"):
        words.append(association_method(associations))
    if comparison := results.get("comparison"):
        words.append(
            "Diversity was measured by Hill numbers [hill], overlap by the Morisita–Horn index, and"
            " differences of vectors by the maximum mean discrepancy [mmd] with"
            f" {comparison.counts['permutations']:,} permutations."
        )
    if (conditions := results.get("conditions")) and len(conditions.tests):
        within = {design["within"] for design in conditions.counts["designs"]} - {None}
        words.append(
            f"Values of {escaped(conditions.counts['condition'])} were compared with donors as units"
            + (f", within values of {escaped(', '.join(sorted(within)))}," if within else ",")
            + " by tests of aligned ranks and by permutation, and corrected by the method of Benjamini and"
            " Hochberg for each measure."
        )
    if benchmark := results.get("benchmark"):
        encoders = ", ".join(escaped(titles[name]) for name in benchmark.summary["encoder"].unique())
        tcrdist = " [tcrdist]" if "tcrdist" in set(benchmark.summary["encoder"]) else ""
        words.append(
            f"Encoders ({encoders}{tcrdist}) were compared by few-shot prediction of epitopes [sceptr] on"
            f" {counted(benchmark.counts['receptors'], 'labelled receptor')}."
        )
    words.append("The report was made with MultiQC [multiqc].")
    return words


def _embedded(embeddings: dict, titles: Titles) -> list[str]:
    published = str(embeddings["model"]).startswith("sceptr")
    return [
        f"Each distinct receptor was embedded in {embeddings['dimensions']} dimensions by"
        f" {escaped(titles[embeddings['model']])}"
        f"{' [sceptr]' if published else ' (architecture of SCEPTR [sceptr])'}."
    ]


def _apart(counts: dict) -> list[str]:
    clustered = "" if counts["clusters"] is None else " and clustered by TCRdist [tcrdist] at a fixed radius"
    return [f"γδ T cells were counted apart, without vectors{clustered}."]


def _background(name: str) -> str:
    if name == "OLGA":
        return "background receptors generated by OLGA [olga]"
    return f"background receptors ({escaped(name)})"


def _cited(text: str) -> tuple[str, list[str]]:
    """Return the text with numbers in place of ``[name]``, and the names in order."""
    cited: list[str] = []

    def number(match: re.Match) -> str:
        name = match[1]
        if name not in WORKS:
            return match[0]
        if name not in cited:
            cited.append(name)
        return f"({WORKS[name].short})"

    return re.sub(r"\[(\w+)\]", number, text), cited


def _reference(work: Work) -> str:
    link = f' <a href="https://doi.org/{work.doi}">doi:{work.doi}</a>' if work.doi else ""
    return escaped(work.full) + link


def versions_table(versions: str) -> str:
    """Return the YAML of versions as a table by package, folded."""
    packages: dict[str, dict[str, list[str]]] = {}
    process = ""
    for line in versions.splitlines():
        if heading := re.fullmatch(r'"?([^"\s].*?)"?:', line):
            process = heading[1].split(":")[-1]
        elif entry := re.fullmatch(r'\s+"?([^":]+)"?:\s*"?(.*?)"?', line):
            packages.setdefault(entry[1], {}).setdefault(entry[2], []).append(process)
    rows = "".join(
        f"<tr><td>{escaped(name)}</td><td>{escaped(number)}</td><td>{escaped(', '.join(sorted(processes)))}"
        "</td></tr>"
        for name, numbers in sorted(packages.items(), key=lambda item: item[0].lower())
        for number, processes in sorted(numbers.items())
    )
    return (
        f"<details><summary>Versions of {counted(len(packages), 'package')}</summary>"
        '<div class="airrvec-scroll"><table class="table table-sm"><thead><tr><th>Software</th><th>Version'
        f"</th><th>Processes</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
