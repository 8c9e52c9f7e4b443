"""Colours of all figures, of the report and of the map, which colour-blind people tell apart."""

# Okabe and Ito's; grey in place of black, which is invisible on a dark page.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
OTHER_COLOUR = "#A3A3A3"  # all groups that have no colour of their own
