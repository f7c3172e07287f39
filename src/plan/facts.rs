//! What holds of a plan: sources, volatility, rule kinds.
