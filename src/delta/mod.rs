//! The algebra: plan in, delta plan out.
