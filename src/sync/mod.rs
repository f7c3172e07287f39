//! One refresh: strategy, stages, apply, commit, retry.
