"""Signs of life while a turn runs (`signs_of_life`): typing (`typing_indicator`), what it does
(`progress`), the live panel of /agents (`agents_panel`). What is shown of a turn begins only where
it takes long (`later`).

Best effort: a failure costs nobody an answer, and nothing is stored but what the panel's buttons
do (`child_control`). All of it, and the acknowledgements of presses, go out by `notices`, which
`carrying` takes to the process that sends to that chat. Imports outbound, processes and views;
streaming, turns, commands and inbound import it.
"""
