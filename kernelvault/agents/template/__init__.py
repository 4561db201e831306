"""Writes HIP kernels from the ATen graph by schedules: no model, no GPU, no key."""

from kernelvault.agents.template.agent import TemplateAgent

__all__ = ["TemplateAgent"]
