"""The two tables of the branch-table proposal, word for word, comments and all."""

YAML_TABLE = """\
branch_table:
  - condition: "Page loads successfully"
    checks:
      - "Feature Y toggle is visible"
      - "Feature Y toggle is functional"
    branches:
      ok:
        action: report_with_evidence
      not_found:
        action: escalate
        tier: overseer
        prompt: "Could not find toggle — possibly renamed or removed"
      broken:
        action: escalate
        tier: overseer
        prompt: "Toggle found but click failed — investigate"

  - condition: "Page returns 404 or redirect"
    branch:
      action: escalate
      tier: human
      prompt: "URL may be dead — verify or provide alternative"

  - condition: "Page requires authentication"
    branch:
      action: report
      format: "Auth-gated — can't verify without credentials"

  - default:
      action: escalate
      tier: overseer
      prompt: "Unexpected state: {observed_state}"
"""

JSON_TASK = """\
{
    "goal": "...",
    "context": "...",
    "branch_table": {
        "escalation_model": "claude-sonnet-4-6",  # medium model for overseer
        "max_escalation_depth": 2,                # cycles before routing to human
        "conditions": [
            {
                "description": "Page loads successfully",
                "checks": ["X toggle visible", "X toggle clickable"],
                "branches": {
                    "ok":              {"action": "report"},
                    "not_found":       {"action": "escalate", "tier": "overseer"},
                    "broken":          {"action": "escalate", "tier": "overseer"}
                }
            }
        ],
        "default": {"action": "escalate", "tier": "overseer"}
    }
}
"""
