library(testthat)
library(airrvecr)

test_check("airrvecr")
