"""Write the order of the report into ``assets/multiqc_config.yml``: ``make generated``."""

from pathlib import Path

from airrvec.report.chapters import multiqc_order

import yaml

CONFIG = Path(__file__).parents[1] / "assets/multiqc_config.yml"
START, END = "# Written by docs/report_order.py from bin/airrvec/report/chapters.py.\n", "# End\n"


def with_order(config: str) -> str:
    """Return the configuration with the order of today between its marks."""
    before, _, rest = config.partition(START)
    return before + START + yaml.safe_dump(multiqc_order(), sort_keys=False) + END + rest.partition(END)[2]


if __name__ == "__main__":
    CONFIG.write_text(with_order(CONFIG.read_text()))
