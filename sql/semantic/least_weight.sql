-- One row: what nearness in meaning weighs beside words that were chosen to be found.
select least_meaning_weight as weight from ranking_weights
