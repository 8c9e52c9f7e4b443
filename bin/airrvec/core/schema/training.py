"""Schemas of the tables of training and fine-tuning."""

from airrvec.core.schema.receptors import RECEPTORS
from airrvec.core.schema.words import strings

import pyarrow as pa

# Part of each clonotype and epitope: train, validation or test; `receptor_id`: its first receptor.
SPLIT = pa.schema(strings("receptor_id", "clonotype_id", "epitope", "reference_id", "part"))

# One row per receptor and epitope used to train a model; `part`: train, validation.
TRAINING_LABELS = pa.schema([*RECEPTORS, *strings("epitope", "part")])

# `test_set`: all test receptors, or those below a similarity to every training receptor; `epitope` may be
# `mean`.
SPECIFICITY = pa.schema(
    [
        *strings("encoder", "rule", "test_set", "epitope"),
        ("auroc", pa.float64()),
        ("n_positive", pa.int32()),
        ("n_negative", pa.int32()),
    ]
)

# `part`: train or validation; terms that are not in the objective are null.
TRAINING = pa.schema(
    [
        ("step", pa.int64()),
        ("part", pa.string()),
        *(
            (name, pa.float64())
            for name in (
                "loss",
                "contrastive_loss",
                "mlm_loss",
                "alignment",
                "uniformity",
                "learning_rate",
            )
        ),
    ]
)

# In a file of its own: all other columns are the same in two runs.
TRAINING_TIMES = pa.schema([("step", pa.int64()), ("part", pa.string()), ("seconds", pa.float64())])
