"""airrvecr/: its own tests, `R CMD check`, and the cells of a run beside the objects of the pipeline."""

import re
import shutil

import pytest
from pipeline_runs import ROOT

PACKAGE = ROOT / "airrvecr"
TESTS = """
options(airrvecr.parquet = {parquet})
library(testthat)
library(airrvecr)
results <- test_dir("tests", package = "airrvecr", reporter = "check", stop_on_failure = TRUE)
results <- as.data.frame(results)
cat("passed", sum(results$passed), "skipped", sum(results$skipped), "\\n")
"""
CHECK = """
r <- function(...) system2(file.path(R.home("bin"), "R"), c("CMD", ...))
vignettes <- requireNamespace("rmarkdown", quietly = TRUE) && rmarkdown::pandoc_available()
without <- if (vignettes) NULL else c("--no-build-vignettes", "--ignore-vignettes")
status <- r("build", without[1], "airrvecr")
Sys.setenv("_R_CHECK_FORCE_SUGGESTS_" = "false", "_R_CHECK_CRAN_INCOMING_" = "false")
package <- list.files(pattern = "^airrvecr_.*gz$")
quit(status = status + r("check", "--no-manual", "--no-tests", without[2], package))
"""
# Tables and objects of the same run, cell by cell.
SAME = """
library(airrvecr)
for (samples in list(NULL, "labelled")) {
  tables <- read_airrvec("results/demo", samples, source = "parquet")
  objects <- read_airrvec("results/demo", samples, source = "rds")
  stopifnot(identical(colnames(tables), colnames(objects)), ncol(tables) > 400)
  stopifnot(setequal(names(colData(tables)), names(colData(objects))))
  for (name in names(colData(tables))) stopifnot(all.equal(tables[[name]], objects[[name]]))
  stopifnot(identical(reducedDim(tables, "SCEPTR"), reducedDim(objects, "SCEPTR")))
}
"""


@pytest.mark.parametrize(("parquet", "least"), [("c('arrow', 'nanoparquet')", 120), ("'none'", 100)])
def test_its_tests(parquet, least, rscript, package_library, tmp_path):
    """In the image no test is skipped but that of Seurat, which Debian's sid lacks beside arrow."""
    shutil.copytree(PACKAGE / "tests/testthat", tmp_path / "tests")  # testthat writes there what fails
    (tmp_path / "tests.R").write_text(TESTS.format(parquet=parquet))
    done = rscript(tmp_path, "tests.R", library=package_library)
    assert done.returncode == 0, done.stdout + done.stderr
    passed, skipped = map(int, re.search(r"passed (\d+) skipped (\d+)", done.stdout).groups())
    assert passed >= least
    assert skipped <= (1 if "arrow" in parquet else 8), done.stdout


def test_check(rscript, tmp_path):
    """
    `R CMD check` without errors, warnings or notes, but that of suggested packages that are not installed.

    With vignettes where R has rmarkdown and pandoc.
    """
    shutil.copytree(PACKAGE, tmp_path / "airrvecr")
    (tmp_path / "check.R").write_text(CHECK)
    done = rscript(tmp_path, "check.R")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^Status: (OK|1 NOTE)$", done.stdout, re.MULTILINE), done.stdout
    assert "Status: OK" in done.stdout or "suggested but not available for checking" in done.stdout


def test_cells_are_those_of_the_objects(demo, rscript, package_library):
    (demo / "same.R").write_text(SAME)
    done = rscript(demo, "same.R", library=package_library)
    assert done.returncode == 0, done.stderr


def test_every_function_has_a_page():
    exported = re.findall(r"^export\((\w+)\)$", (PACKAGE / "NAMESPACE").read_text(), re.MULTILINE)
    pages = "".join(path.read_text() for path in (PACKAGE / "man").glob("*.Rd"))
    assert len(exported) > 10
    assert [name for name in exported if "\\alias{" + name + "}" not in pages] == []
