# Runs group.jags: Rscript group.R FOLDER MODEL BURN_IN DRAWS SEED
# Reads counts.csv (subject, stimulus, response, rating, count; numbers from 1) and subjects.csv (d,
# c) from FOLDER, and writes draws.csv and seconds.txt (CPU seconds of burn-in and sampling).
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
burn_in <- as.integer(arguments[3])
suppressPackageStartupMessages(library(rjags))

counts <- read.csv(file.path(folder, "counts.csv"))
subjects <- read.csv(file.path(folder, "subjects.csv"))
ratings <- max(counts$rating)
n <- array(0, c(nrow(subjects), 2, 2, ratings))
n[as.matrix(counts[c("subject", "stimulus", "response", "rating")])] <- counts$count
data <- list(
  n = n, total = apply(n, 1:3, sum), d = subjects$d, c = subjects$c,
  subjects = nrow(subjects), ratings = ratings
)
initial <- list(.RNG.name = "base::Mersenne-Twister", .RNG.seed = as.integer(arguments[5]))

start <- proc.time()
model <- jags.model(arguments[2], data, initial, n.adapt = burn_in, quiet = TRUE)
draws <- coda.samples(
  model, c("mu_log_m", "sigma_log_m"), n.iter = as.integer(arguments[4]), progress.bar = "none"
)
spent <- proc.time() - start

write.csv(as.matrix(draws), file.path(folder, "draws.csv"), row.names = FALSE)
writeLines(format(spent[["user.self"]] + spent[["sys.self"]]), file.path(folder, "seconds.txt"))
