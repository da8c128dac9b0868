"""What a model may ask for, and what becomes of it: a call of delegate_task as tasks.

`offer` makes the tool's description and schema, `arguments` and `lenient` read a call, `planner`
and `child_models` check it within the limits of its `caller`. Points to core, tables and handoff.
"""
