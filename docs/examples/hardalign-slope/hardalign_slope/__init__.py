"""`hard` that prefers the diagonal: one learned number says how much."""

from hardalign.systems import Builders, System

SYSTEM = System(
    paper="–",
    summary="hard that prefers source symbols as far along as the target",
    advice="short words whose letters and sounds keep step",
    builders=Builders(
        network="hardalign_slope.learning:network",
        runtime="hardalign_slope.answering:runtime",
        shapes="hardalign_slope.answering:shapes",
    ),
)
