"""Published variants of SCEPTR (paper, "Ablation studies"; the ``sceptr`` package)."""

# Name in airrvec → folder in the package, title.
VARIANTS: dict[str, tuple[str, str]] = {
    "sceptr": ("SCEPTR", "SCEPTR"),
    "sceptr_tiny": ("SCEPTR_tiny", "SCEPTR (tiny)"),
    "sceptr_small": ("SCEPTR_small", "SCEPTR (small)"),
    "sceptr_large": ("SCEPTR_large", "SCEPTR (large)"),
    "sceptr_blosum": ("SCEPTR_BLOSUM", "SCEPTR (BLOSUM)"),
    "sceptr_average_pooling": ("SCEPTR_average_pooling", "SCEPTR (average pooling)"),
    "sceptr_synthetic_data": ("SCEPTR_synthetic_data", "SCEPTR (synthetic data)"),
    "sceptr_shuffled_data": ("SCEPTR_shuffled_data", "SCEPTR (shuffled data)"),
    "sceptr_left_aligned": ("SCEPTR_left_aligned", "SCEPTR (left-aligned)"),
    "sceptr_dropout_noise_only": ("SCEPTR_dropout_noise_only", "SCEPTR (dropout noise only)"),
    "sceptr_mlm_only": ("SCEPTR_MLM_only", "SCEPTR (MLM only)"),
    "sceptr_cdr3_only": ("SCEPTR_CDR3_only", "SCEPTR (CDR3 only)"),
    "sceptr_cdr3_only_mlm_only": ("SCEPTR_CDR3_only_MLM_only", "SCEPTR (CDR3 only, MLM only)"),
    "sceptr_finetuned": ("SCEPTR_finetuned", "SCEPTR (fine-tuned)"),
    "sceptr_alpha_only": ("A_SCEPTR", "SCEPTR (α only)"),
    "sceptr_beta_only": ("B_SCEPTR", "SCEPTR (β only)"),
}
