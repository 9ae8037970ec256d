"""What `gen plan` answers: a plan, a card to hold it against, and the ladder around it, as text and as JSON."""

from generator.report.planned import PlanReport, planned
from generator.report.rows import plan_as_dict
from generator.report.words import plan_as_text

__all__ = ["PlanReport", "plan_as_dict", "plan_as_text", "planned"]
