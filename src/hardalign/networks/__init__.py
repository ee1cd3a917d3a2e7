"""The networks that learn: encoder, decoder, attention, heads, feeding and objectives."""
