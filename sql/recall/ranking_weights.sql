-- One row: what every ranking weighs, whichever door asks. Reasons: docs/recall.md, docs/search.md.
select
    -- Okapi BM25: the values of the full-text extension itself.
    1.2::double as k1,
    0.75::double as b,
    -- Recall: reciprocal rank fusion. Of 120 known items, paraphrased and asked for with `also`,
    -- it puts 0.97 among the first eight; BM25 of conversations alone 0.94, windows 0.74.
    10 as rank_constant,
    1.0::double as conversation_weight,
    0.5::double as turn_weight,
    0.25::double as evidence_weight,
    -- Nearness in meaning beside the words, in recall and search: it weighs the most where no turn
    -- holds 0.4 of what the words asked for tell (in the weights of BM25), the least from 0.8 on,
    -- or
    -- where `also` names other words. Chosen on half of benchmarks/semantic_quality.py: mean
    -- reciprocal rank of paraphrased questions in recall 0.16 by words, 0.73 so; of words that were
    -- said 0.94 and 0.92. One weight for all questions: at 1.0 0.39 and 0.84, at 2.0 0.56 and 0.80.
    -- With 0.25 as the least, words that were said are found in search at 0.90 instead of 0.94.
    0.05::double as least_meaning_weight,
    8.0::double as most_meaning_weight,
    0.4::double as badly_held,
    0.8::double as well_held,
    -- Whatever words they hold, so many of the nearest in meaning may be among the results.
    50 as most_near,
    -- Recall: the evidence score, as people read it under `why`; scrubjay's.
    10 as term_points,
    6 as passage_points,
    8 as topic_points,
    6 as most_hit_points,
    -- Search, `rank=blended`. Measured on 80 known blocks of a kind, each asked for by three of its
    -- rarer words (benchmarks/known_messages.py); figures are mean reciprocal ranks.
    -- With medium at 1.0 a message is found at 0.92, thinking at 0.92; at 0.85 at 0.95 and 0.89;
    -- at 0.5 at 0.95 and 0.58.
    1.0::double as high_weight,
    0.85::double as medium_weight,
    -- Where tool output is searched too: with low at 1.0 a message is found at 0.76 and output
    -- at 0.75; at 0.4 at 0.92 and 0.58; at 0.2 at 0.94 and 0.29.
    0.4::double as low_weight,
    -- The part of a score that age can take, and the days after which half of that is gone: enough
    -- to order near-equals. At 0.3 a message is found at 0.939, at 0.1 and at 0 at 0.945.
    0.1::double as recency_weight,
    180 as half_life_days,
    -- A word with punctuation that stands as it was written adds so much of the best score. At 0 it
    -- is what the first hit shows for 0.55 of 100 names, at 0.5 for 0.73, at 1.0 for 0.80.
    1.0::double as literal_weight
